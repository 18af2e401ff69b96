"""How handwritten digits look, in words: the class descriptions of the embedded data set.

Each row is a feature of the writing, each column a digit: 1 if the digit, as people commonly write it, has the feature,
0 if not, and values between for what only some hands or only part of the stroke do. The table was
written from how digits look and is not fitted to the pixels: whoever changes it, please keep it so.
"""

STROKES = """
                              zero  one   two   three four  five  six   seven eight nine
horizontal stroke at top      0.5   0     0.5   0.7   0     1     0.2   1     0.5   0.5
stroke at upper left          1     0.2   0.2   0     0.8   1     0.8   0     0.8   1
stroke at upper right         1     0.4   1     0.9   0.5   0     0     0.8   0.8   1
horizontal stroke in middle   0     0     0.2   0.6   1     0.6   0.6   0.4   0.5   0.6
stroke at lower left          1     0     0.6   0     0     0     1     0.3   0.8   0
stroke at lower right         1     0.2   0     0.9   0.5   1     1     0     0.8   0.8
horizontal stroke at bottom   0.5   0.2   1     0.7   0     0.7   0.6   0     0.5   0.5
ink in the very centre        0     1     0.4   0.8   0.6   0.7   0.5   0.7   1     0.6
ink at top centre             1     1     1     1     0.4   1     0.6   1     1     1
ink at bottom centre          1     1     0.8   1     0.5   0.9   1     0.5   1     0.8
loop in upper half            0     0     0     0     0     0     0     0     1     1
loop in lower half            0     0     0.1   0     0     0     1     0     1     0
one large loop                1     0     0     0     0     0     0     0     0     0
open to the left, above       0     0.5   1     1     0     0     0     1     0     0
open to the left, below       0     0.5   0     1     1     1     0     1     0     0.9
open to the right, above      0     0.5   0     0     0     1     0.9   0     0     0
open to the right, below      0     0.5   0.7   0     0.6   0     0     0.8   0     0
open at the top               0     0     0     0     1     0     0.5   0     0     0
long vertical stroke          0     1     0     0     0.7   0     0     0.3   0     0.4
long falling-left diagonal    0     0.2   0.7   0     0.4   0     0.4   0.9   0.2   0.3
strokes that cross            0     0     0.1   0     1     0     0     0.4   0.9   0
curved all along              1     0     0.4   0.9   0     0.5   0.9   0     1     0.8
sharp corner                  0     0.2   0.6   0.3   0.9   0.8   0     1     0     0.1
narrow                        0.1   1     0     0.1   0     0.1   0.3   0.1   0.3   0.2
"""
