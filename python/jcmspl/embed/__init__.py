"""Embeddings of pictures and texts by your own encoders: ONNX files or any function. Nothing is downloaded.

=========================  =====================================================================
:func:`images`             features, labels and paths of the pictures in a folder
:func:`texts`              class vectors of descriptions
:func:`batches`            embeddings by any function, a batch at a time
:class:`ImageEncoder`      an ONNX model of pictures, with options
:class:`TextEncoder`       an ONNX model of texts with its tokenizer, with options
:class:`ImageEmbeddings`   the result of :func:`images`
:func:`save_classes`       writes the result of :func:`texts`
=========================  =====================================================================

ONNX models need ``pip install 'jcmspl[embed]'``.
"""

from jcmspl.embed.embed_images import ImageEmbeddings, images
from jcmspl.embed.embed_texts import batches, save_classes, texts
from jcmspl.embed.image_encoder import ImageEncoder
from jcmspl.embed.text_encoder import TextEncoder

__all__ = ["ImageEmbeddings", "ImageEncoder", "TextEncoder", "batches", "images", "save_classes", "texts"]
