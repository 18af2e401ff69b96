"""Embeddings of pictures and texts, by encoders that you have: ONNX files, or any function. Nothing is downloaded.

=========================  =====================================================================
:func:`images`             features, labels and paths of the pictures in a folder
:func:`texts`              class vectors of descriptions
:func:`batches`            anything that a function embeds, a batch at a time
:class:`ImageEncoder`      an ONNX model of pictures, where more is to be said about it
:class:`TextEncoder`       an ONNX model of texts with its tokenizer
:class:`ImageEmbeddings`   what :func:`images` returns
:func:`save_classes`       writes what :func:`texts` returns
=========================  =====================================================================

ONNX models need ``pip install 'jcmspl[embed]'``.
"""

from jcmspl.embed.image_encoder import ImageEncoder
from jcmspl.embed.in_batches import batches
from jcmspl.embed.of_images import ImageEmbeddings, images
from jcmspl.embed.of_texts import save_classes, texts
from jcmspl.embed.text_encoder import TextEncoder

__all__ = ["ImageEmbeddings", "ImageEncoder", "TextEncoder", "batches", "images", "save_classes", "texts"]
