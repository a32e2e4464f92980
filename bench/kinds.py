# SPDX-License-Identifier: Apache-2.0
"""Small networks of kinds that ../shared lacks, in the shape of what others deploy: detectors like NanoDet, SCRFD and FastestDet, and a classifier
with instance normalization, which look for shapes that are painted over photos. A network is a list of ONNX nodes and a dictionary of weights, so that
bench/train_kinds.py can train it without ONNX; onnx_of() makes a model of it, and decode() boxes of what that gives."""

import detections
from harness import need

np = need("numpy")
SIZE, CLASSES = 320, 8
LEVELS = (8, 16, 32)


class Network:
    def __init__(self, name, seed, size=SIZE):
        self.name, self.size = name, size
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.outputs, self.raw = [], {}, [], []

    def add(self, op, inputs, outputs=1, **attributes):
        """A node, and the name of what it gives, or the names."""
        names = [f"{op}_{len(self.nodes)}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append({"op": op, "in": list(inputs), "out": names, "attr": attributes})
        return names[0] if outputs == 1 else names

    def weight(self, array, kind):
        """`kind`: trained, statistic or constant."""
        name = f"{kind}_{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def conv(self, x, inside, out, kernel=1, stride=1, group=1, bias=None):
        deviation = np.sqrt(2.0 / (inside // group * kernel * kernel))
        w = self.random.normal(0, deviation, (out, inside // group, kernel, kernel)).astype("f")
        inputs = [x, self.weight(w, "trained")]
        if bias is not None:
            inputs.append(self.weight(np.full(out, bias, "f"), "trained"))
        return self.add("Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)

    def norm(self, x, channels):
        return self.add("BatchNormalization", [x, self.weight(np.ones(channels, "f"), "trained"), self.weight(np.zeros(channels, "f"), "trained"),
                                               self.weight(np.zeros(channels, "f"), "statistic"), self.weight(np.ones(channels, "f"), "statistic")],
                        epsilon=1e-5)

    def act(self, x):
        return self.add("Relu", [x])

    def unit(self, x, inside, out, kernel=1, stride=1, group=1, act=True):
        x = self.norm(self.conv(x, inside, out, kernel, stride, group), out)
        return self.act(x) if act else x

    def up(self, x):
        return self.add("Resize", [x, "", self.weight(np.float32([1, 1, 2, 2]), "constant")], mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def rows(self, x, width):
        """[1,C,H,W] to [1,HW*k,width]."""
        x = self.add("Transpose", [x], perm=[0, 2, 3, 1])
        return self.add("Reshape", [x, self.weight(np.int64([0, -1, width]), "constant")])

    def shuffle_unit(self, x, inside, out, stride):
        half = out // 2
        if stride == 1:
            left, right = self.add("Split", [x], 2, axis=1)
        else:
            left = self.unit(self.unit(x, inside, inside, 3, 2, inside, act=False), inside, half)
            right = x
        right = self.unit(right, half if stride == 1 else inside, half)
        right = self.unit(right, half, half, 3, stride, half, act=False)
        x = self.add("Concat", [left, self.unit(right, half, half)], axis=1)
        side = self.size_at(stride)
        x = self.add("Reshape", [x, self.weight(np.int64([0, 2, half, side, side]), "constant")])
        x = self.add("Transpose", [x], perm=[0, 2, 1, 3, 4])
        return self.add("Reshape", [x, self.weight(np.int64([0, out, side, side]), "constant")])

    def size_at(self, stride):
        self.side //= stride
        return self.side

    def shufflenet(self, widths, repeats):
        x = self.unit("input", 3, widths[0], 3, 2)
        x = self.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        self.side, maps, inside = self.size // 4, [], widths[0]
        for out, count in zip(widths[1:], repeats):
            for i in range(count):
                x = self.shuffle_unit(x, inside, out, 2 if i == 0 else 1)
                inside = out
            maps.append(x)
        return maps


class NanoDetLike(Network):
    """ShuffleNetV2 0.5, ghost pyramid, heads of two depthwise 5x5 layers; a distribution for each side; LeakyReLU."""

    BINS, WIDTH = 7, 64

    def __init__(self):
        super().__init__("nanodet_like", 1)
        maps = self.shufflenet((24, 48, 96, 192), (4, 8, 4))
        maps = [self.unit(x, c, self.WIDTH) for x, c in zip(maps, (48, 96, 192))]
        down = [None, None, maps[2]]
        for i in (1, 0):
            down[i] = self.ghost(self.add("Concat", [self.up(down[i + 1]), maps[i]], axis=1), 2 * self.WIDTH)
        out = [down[0]]
        for i in (1, 2):
            x = self.separable(out[-1], 2)
            out.append(self.ghost(self.add("Concat", [x, down[i]], axis=1), 2 * self.WIDTH))
        rows = []
        for x in out:
            x = self.separable(self.separable(x), 1)
            x = self.conv(x, self.WIDTH, CLASSES + 4 * (self.BINS + 1), bias=-2.0)
            rows.append(self.rows(x, CLASSES + 4 * (self.BINS + 1)))
        x = self.add("Concat", rows, axis=1)
        classes, boxes = self.add("Split", [x, self.weight(np.int64([CLASSES, 4 * (self.BINS + 1)]), "constant")], 2, axis=2)
        self.raw = [classes, boxes]
        self.outputs = [self.add("Concat", [self.add("Sigmoid", [classes]), boxes], axis=2)]

    def act(self, x):
        return self.add("LeakyRelu", [x], alpha=0.1)

    def separable(self, x, stride=1):
        x = self.unit(x, self.WIDTH, self.WIDTH, 5, stride, self.WIDTH)
        return self.unit(x, self.WIDTH, self.WIDTH)

    def ghost(self, x, inside):
        half = self.WIDTH // 2
        one = self.unit(x, inside, half)
        return self.add("Concat", [one, self.unit(one, half, half, 3, 1, half)], axis=1)


class ScrfdLike(Network):
    """MobileNet-v1 of few channels, a pyramid of 16, heads of depthwise layers; score and four distances of two anchors."""

    def __init__(self):
        super().__init__("scrfd_like", 2)
        x, inside, maps = self.unit("input", 3, 16, 3, 2), 16, []
        for out, count, stride in ((16, 1, 1), (40, 2, 2), (72, 3, 2), (152, 2, 2), (288, 4, 2)):
            for i in range(count):
                x = self.unit(self.unit(x, inside, inside, 3, stride if i == 0 else 1, inside), inside, out)
                inside = out
            maps.append(x)
        maps = [self.conv(x, c, 16, bias=0) for x, c in zip(maps[2:], (72, 152, 288))]
        for i in (1, 0):
            maps[i] = self.add("Add", [maps[i], self.up(maps[i + 1])])
        maps = [self.conv(x, 16, 16, 3, bias=0) for x in maps]
        for i in (1, 2):
            maps[i] = self.add("Add", [maps[i], self.conv(maps[i - 1], 16, 16, 3, 2, bias=0)])
        scores, boxes = [], []
        for x in maps:
            channels = 16
            for _ in range(2):
                x = self.unit(self.unit(x, channels, channels, 3, 1, channels), channels, 64)
                channels = 64
            scores.append(self.rows(self.conv(x, 64, 2 * CLASSES, 3, bias=-4.0), CLASSES))
            boxes.append(self.rows(self.conv(x, 64, 8, 3, bias=2.0), 4))
        self.raw = [*scores, *boxes]
        self.outputs = [*(self.add("Sigmoid", [x]) for x in scores), *boxes]


class FastestDetLike(Network):
    """ShuffleNetV2, three depths of depthwise 5x5 layers side by side, one map of stride 16."""

    def __init__(self):
        super().__init__("fastestdet_like", 3)
        fine, middle, coarse = self.shufflenet((24, 48, 96, 192), (4, 8, 4))
        fine = self.add("AveragePool", [fine], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        x = self.unit(self.add("Concat", [fine, middle, self.up(coarse)], axis=1), 48 + 96 + 192, 96)
        branches = []
        for depth in (1, 2, 3):
            y = self.unit(x, 96, 96)
            for _ in range(depth):
                y = self.unit(y, 96, 96, 5, 1, 96)
            branches.append(y)
        y = self.unit(self.add("Concat", branches, axis=1), 288, 96, act=False)
        x = self.act(self.add("Add", [x, y]))
        parts = []
        for width, bias in ((1, -4.0), (4, 0.0), (CLASSES, 0.0)):
            y = self.unit(self.unit(x, 96, 96), 96, 96, 5, 1, 96)
            parts.append(self.conv(y, 96, width, bias=bias))
        self.raw = [self.rows(y, w) for y, w in zip(parts, (1, 4, CLASSES))]
        done = [self.add("Sigmoid", [parts[0]]), parts[1], self.add("Softmax", [parts[2]], axis=1)]
        self.outputs = [self.add("Concat", done, axis=1)]


class InstanceNormLike(Network):
    """A classifier that normalizes each channel of each image, as style networks do."""

    def __init__(self):
        super().__init__("instancenorm_like", 4, 64)
        x, inside = "input", 3
        for out, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (96, 2)):
            x = self.conv(x, inside, out, 3, stride, bias=0)
            x = self.add("InstanceNormalization", [x, self.weight(np.ones(out, "f"), "trained"), self.weight(np.zeros(out, "f"), "trained")],
                         epsilon=1e-5)
            x = self.act(x)
            inside = out
        x = self.add("GlobalAveragePool", [x])
        x = self.conv(x, inside, CLASSES, bias=0)
        self.outputs = [self.add("Reshape", [x, self.weight(np.int64([0, CLASSES]), "constant")])]
        self.raw = list(self.outputs)


NETWORKS = {"nanodet_like": NanoDetLike, "scrfd_like": ScrfdLike, "fastestdet_like": FastestDetLike, "instancenorm_like": InstanceNormLike}


def shapes(xp, kind, x, y):
    """Which points of a plane where the shape has a half width of 1 are inside: eight kinds."""
    r, ax, ay = xp.sqrt(x * x + y * y), xp.abs(x), xp.abs(y)
    angle = xp.arctan2(y, x)
    spike = 0.55 + 0.4 * xp.cos(5 * angle)
    forms = [r < 1, xp.maximum(ax, ay) < 0.8, (y > -0.6) & (y + 1.732 * ax < 1), (r < 1) & (r > 0.55),
             (xp.minimum(ax, ay) < 0.28) & (xp.maximum(ax, ay) < 1), (ax * 0.45 + ay) < 0.45, r < spike, (r < 1) & (y > 0)]
    inside = forms[0] & (kind == 0)
    for k in range(1, CLASSES):
        inside = inside | (forms[k] & (kind == k))
    return inside


def place(xp, image, mask, color, other, blend):
    """One shape over a picture [B,3,H,W]; mask [B,1,H,W]."""
    paint = color * blend + other * (1 - blend)
    return xp.where(mask, paint, image)


# Pictures

MOST_SHAPES = 6
LEAST_SIDE = 100  # of pictures with several shapes; a smaller one has one


def picture(random, photos, size):
    """As the network gets it, [1,3,size,size], and the kinds of the shapes in it."""
    image, other = (view(random, photos, size) for _ in range(2))
    y, x = np.mgrid[:size, :size] + 0.5
    found = []
    single = size < LEAST_SIDE
    for _ in range(1 if single else int(random.integers(1, MOST_SHAPES + 1))):
        half = size * random.uniform(0.2, 0.45) if single else np.exp(random.uniform(np.log(8), np.log(80)))
        left, top = size * (0.5 + random.uniform(-0.5, 0.5, 2) * (0.3 if single else 0.95))
        turn, kind = random.uniform(-0.45, 0.45), int(random.integers(CLASSES))
        dx, dy = (x - left) / half, (y - top) / half
        mask = shapes(np, kind, dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn))
        image = place(np, image, mask[None], random.uniform(0, 255, (3, 1, 1)), other, random.uniform(0.5, 1))
        found.append(kind)
    image = np.rint(np.clip(image + random.normal(0, 6 * random.uniform(), image.shape), 0, 255))  # as a photo has them
    return np.ascontiguousarray(((image - 127.5) / 128).astype(np.float32)[None]), found


def view(random, photos, size):
    """A part of one of the photos, some of them turned round."""
    image = need("PIL.Image")
    photo = photos[int(random.integers(len(photos)))]
    side = int(min(photo.shape[:2]) * random.uniform(0.5, 1))
    top, left = (int(random.integers(length - side + 1)) for length in photo.shape[:2])
    part = photo[top : top + side, left : left + side]
    part = np.asarray(image.fromarray(part).resize((size, size), image.BILINEAR), np.float32)
    return (part[:, ::-1] if random.uniform() < 0.5 else part).transpose(2, 0, 1)


# Models


def onnx_of(network, weights):
    """`weights`: what was trained, by name; the others are the network's own."""
    helper, numpy_helper = need("onnx.helper", "onnx.numpy_helper")
    kind = helper.np_dtype_to_tensor_dtype(np.dtype("f"))
    nodes = [helper.make_node(node["op"], node["in"], node["out"], name=node["out"][0], **node["attr"]) for node in network.nodes]
    arrays = {name: np.asarray(weights[name] if name in weights else array) for name, array in network.weights.items()}
    graph = helper.make_graph(
        nodes, network.name, [helper.make_tensor_value_info("input", kind, [1, 3, network.size, network.size])],
        [helper.make_tensor_value_info(name, kind, None) for name in network.outputs],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def decode_nanodet(outputs, height, width):
    raw = next(iter(outputs.values()))[0]
    points, strides = grid(height, width)
    bins = NanoDetLike.BINS + 1
    powers = np.exp(raw[:, CLASSES:].reshape(-1, 4, bins))
    distances = (powers * np.arange(bins)).sum(axis=2) / powers.sum(axis=2) * strides
    return best(np.concatenate([points - distances[:, :2], points + distances[:, 2:]], axis=1), raw[:, :CLASSES])


def decode_scrfd(outputs, height, width):
    maps = [value[0] for value in outputs.values()]
    points, strides = (part.repeat(2, axis=0) for part in grid(height, width))
    scores, distances = np.concatenate(maps[:3]), np.concatenate(maps[3:]) * strides
    return best(np.concatenate([points - distances[:, :2], points + distances[:, 2:]], axis=1), scores)


def decode_fastestdet(outputs, height, width):
    raw = next(iter(outputs.values()))[0]
    rows = raw.reshape(raw.shape[0], -1).T
    centers = (detections.cells(height, width, 16) + 0.5 + np.tanh(rows[:, 1:3])) * 16
    sizes = [width, height] / (1 + np.exp(-rows[:, 3:5]))
    return best(detections.corners(centers, sizes), rows[:, :1] * rows[:, 5:], 0.15)


def grid(height, width):
    """The middle of each cell of each level, and its stride."""
    cells = [detections.cells(height, width, stride) for stride in LEVELS]
    points = [(part + 0.5) * stride for part, stride in zip(cells, LEVELS)]
    return np.concatenate(points), np.concatenate([np.full((len(part), 1), stride) for part, stride in zip(cells, LEVELS)])


def best(boxes, scores, least=0.25):
    return detections.suppress(boxes, scores.max(axis=1), scores.argmax(axis=1), least)


DECODERS = {"nanodet_like": decode_nanodet, "scrfd_like": decode_scrfd, "fastestdet_like": decode_fastestdet}
