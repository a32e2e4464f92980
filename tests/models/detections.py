# SPDX-License-Identifier: Apache-2.0
"""What the detectors of ../shared see: raw outputs to boxes, non-maximum suppression, and how well two sets of boxes match."""

from harness import need

IOU = 0.5


def areas(boxes):
    return (boxes[:, 2] - boxes[:, 0]).clip(0) * (boxes[:, 3] - boxes[:, 1]).clip(0)


def iou(a, b):
    """Of every box of `a` with every box of `b`; boxes are left, top, right, bottom."""
    numpy = need("numpy")
    low = numpy.maximum(a[:, None, :2], b[None, :, :2])
    high = numpy.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clip(0).prod(axis=2)
    return inner / numpy.maximum(areas(a)[:, None] + areas(b)[None] - inner, 1e-9)


def suppress(boxes, scores, labels, least):
    """Boxes with at least that score, best first, without those that a better one of their class overlaps."""
    numpy = need("numpy")
    order = numpy.flatnonzero(scores >= least)
    order = order[numpy.argsort(-scores[order], kind="stable")]
    kept = []
    for i in order:
        same = [k for k in kept if labels[k] == labels[i]]
        if not same or iou(boxes[[i]], boxes[same]).max() < 0.45:
            kept.append(i)
    return boxes[kept], scores[kept], labels[kept]


def matches(a, b):
    """How many detections of `a` and `b` are pairs: the same class, an overlap of at least IOU, each used once."""
    (boxes_a, _, labels_a), (boxes_b, _, labels_b) = a, b
    if not len(boxes_a) or not len(boxes_b):
        return 0
    overlap = iou(boxes_a, boxes_b) * (labels_a[:, None] == labels_b[None])
    pairs = 0
    while overlap.max() >= IOU:
        i, j = divmod(int(overlap.argmax()), overlap.shape[1])
        overlap[i, :] = overlap[:, j] = 0
        pairs += 1
    return pairs


def corners(centers, sizes):
    return need("numpy").concatenate([centers - sizes / 2, centers + sizes / 2], axis=1)


def cells(height, width, stride):
    """Column and row of each cell of a feature map."""
    numpy = need("numpy")
    rows, columns = numpy.mgrid[: height // stride, : width // stride]
    return numpy.stack([columns.ravel(), rows.ravel()], axis=1)


def yolox(outputs, height, width, least=0.3):
    numpy = need("numpy")
    raw = outputs["output"][0]
    grid = numpy.concatenate([cells(height, width, s) for s in (8, 16, 32)])
    stride = numpy.concatenate([numpy.full((len(cells(height, width, s)), 1), s) for s in (8, 16, 32)])
    boxes = corners((raw[:, :2] + grid) * stride, numpy.exp(raw[:, 2:4]) * stride)
    scores = raw[:, 4:5] * raw[:, 5:]
    return suppress(boxes, scores.max(axis=1), scores.argmax(axis=1), least)


def retinaface(outputs, height, width, least=0.5):
    numpy = need("numpy")
    centers, sizes = [], []
    for stride, sides in ((8, (16, 32)), (16, (64, 128)), (32, (256, 512))):
        grid = (cells(height, width, stride) + 0.5) * stride
        centers.append(grid.repeat(2, axis=0))
        sizes.append(numpy.tile(numpy.array(sides)[:, None].repeat(2, axis=1), (len(grid), 1)))
    centers, sizes = numpy.concatenate(centers), numpy.concatenate(sizes)
    loc, scores = outputs["loc"][0], outputs["conf"][0][:, 1]
    boxes = corners(centers + loc[:, :2] * 0.1 * sizes, sizes * numpy.exp(loc[:, 2:] * 0.2))
    return suppress(boxes, scores, numpy.zeros(len(scores), int), least)


def ultraface(outputs, height, width, least=0.7):
    numpy = need("numpy")
    boxes = outputs["boxes"][0] * numpy.array([width, height, width, height])
    scores = outputs["scores"][0][:, 1]
    return suppress(boxes, scores, numpy.zeros(len(scores), int), least)


def yunet(outputs, height, width, least=0.6):
    numpy = need("numpy")
    boxes, scores = [], []
    for stride in (8, 16, 32):
        raw = outputs[f"bbox_{stride}"][0]
        centers = (cells(height, width, stride) + raw[:, :2]) * stride
        boxes.append(corners(centers, numpy.exp(raw[:, 2:]) * stride))
        product = outputs[f"cls_{stride}"][0][:, 0] * outputs[f"obj_{stride}"][0][:, 0]
        scores.append(numpy.sqrt(product.clip(0, 1)))
    boxes, scores = numpy.concatenate(boxes), numpy.concatenate(scores)
    return suppress(boxes, scores, numpy.zeros(len(scores), int), least)
