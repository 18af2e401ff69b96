"""Networks: perceptrons with gradients written out, and the kinds of methods that train them."""
