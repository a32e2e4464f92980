# SPDX-License-Identifier: Apache-2.0
"""Real photos prepared rightly and wrongly: which mistakes Octet names, and which data raise a false alarm. The test takes one model; as a
program this prints the table of docs/calibration.md over all of them."""

import functools

import harness
from harness import need, octet, scratch, shared_data, shared_model

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


class Model:
    """A model, how its makers prepare photos, and photos that it was not calibrated on."""

    def __init__(self, name, side, calib, data, flags, numbers, bgr=False, pattern="*.jpg"):  # noqa: PLR0913
        self.name, self.side, self.calib, self.data, self.flags = name, side, calib, data, flags
        self.scale, self.mean, self.std = numbers
        self.bgr, self.pattern = bgr, pattern

    @functools.cache
    def engine(self):
        engine = scratch() / f"{self.name}.octet"
        octet("build", shared_model(self.name), "--int8", "--calib", shared_data(self.calib), *self.flags, "-o", engine, "--quiet")
        return engine

    def paths(self):
        return sorted(path for path in shared_data(self.data).rglob("*") if path.suffix in (".jpg", ".jpeg", ".png"))

    def pixels(self, paths):
        """[N,H,W,3] of 0 to 255 in the model's order of channels."""
        numpy, image = need("numpy", "PIL.Image")
        photos = [numpy.asarray(image.open(path).convert("RGB").resize((self.side, self.side))) for path in paths]
        pixels = numpy.stack(photos).astype("float32")
        return pixels[..., ::-1] if self.bgr else pixels

    def prepared(self, pixels, scale=None, mean=None, std=None):
        """[N,3,H,W] as the network takes it."""
        numpy = need("numpy")
        scale, mean, std = scale or self.scale, self.mean if mean is None else mean, self.std if std is None else std
        values = (pixels / scale - numpy.asarray(mean)) / numpy.asarray(std)
        return numpy.ascontiguousarray(values.transpose(0, 3, 1, 2)).astype("float32")


def texts(values):
    return ",".join(str(value) for value in values)


MODELS = {
    "resnet20": Model("cifar10_resnet20", 32, "cifar10/calib", "cifar10/test",
                      ("--scale", "255", "--mean", texts(CIFAR[0]), "--std", texts(CIFAR[1])), (255, *CIFAR)),
    "mobilenet_v2": Model("mobilenet_v2_imagenet", 224, "imagenet/calib", "imagenet/val",
                          ("--preprocess", "timm-inception"), (127.5, (1, 1, 1), (1, 1, 1))),
    "yolox": Model("yolox_nano", 416, "coco/calib", "coco/val", ("--preprocess", "yolox"), (1, (0, 0, 0), (1, 1, 1)), bgr=True),
}


def wrong(model, pixels):
    """Arrays by the mistake made with them, and the causes that name it."""
    numpy = need("numpy")
    right = model.prepared(pixels)
    last = numpy.ascontiguousarray(right.transpose(0, 2, 3, 1)).reshape(right.shape)
    cases = {"pixel by pixel (NHWC)": (last, {"layout"})}
    if model.scale == 1:
        cases["scaled, though pixels are meant"] = model.prepared(pixels, scale=255), {"scaled_twice"}
        cases["ImageNet's mean and std"] = model.prepared(pixels, 255, *IMAGENET), {"scaled_twice"}
        return cases
    cases["scaled twice"] = model.prepared(pixels, scale=model.scale * 255), {"scaled_twice"}
    cases["prepared twice"] = model.prepared(right.transpose(0, 2, 3, 1)), {"scaled_twice"}
    cases["not scaled"] = model.prepared(pixels, scale=1), {"not_scaled"}
    cases["not prepared"] = numpy.ascontiguousarray(pixels.transpose(0, 3, 1, 2)), {"not_scaled"}
    cases["no mean and std"] = model.prepared(pixels, 255, (0, 0, 0), (1, 1, 1)), {"wrong_mean"}
    if model.mean[0] != model.mean[2]:
        cases["mean and std 0.5"] = model.prepared(pixels, 255, (0.5,) * 3, (0.5,) * 3), {"wrong_mean"}
        cases["ImageNet's mean and std"] = model.prepared(pixels, 255, *IMAGENET), {"wrong_mean"}
        cases["channels turned round"] = numpy.ascontiguousarray(right[:, ::-1]), {"bgr"}
    else:
        cases["ImageNet's mean and std"] = model.prepared(pixels, 255, *IMAGENET), {"wrong_mean"}
    return cases


def right(model, paths):
    """Pixels of other kinds, rightly prepared, by what they are."""
    numpy = need("numpy")
    pixels = model.pixels(paths)
    cases = {"all": pixels, "one photo": pixels[:1], "two photos": pixels[-2:], "four photos": pixels[3:7],
             "night (a fifth of the light)": numpy.round(pixels * 0.2), "deep night": numpy.round(pixels * 0.04),
             "fog (half the contrast, bright)": numpy.round(128 + pixels * 0.3), "overexposed": numpy.minimum(255, pixels * 1.8),
             "gray": numpy.repeat(numpy.round(pixels.mean(3, keepdims=True)), 3, 3),
             "blue (water, sky)": pixels * numpy.array([1, .8, .5] if model.bgr else [.5, .8, 1], "float32"),
             "red (sunset)": pixels * numpy.array([.4, .7, 1] if model.bgr else [1, .7, .4], "float32")}
    for folder in sorted({path.parent for path in paths}) if len({path.parent for path in paths}) > 1 else ():
        cases[f"class {folder.name}"] = model.pixels([path for path in paths if path.parent == folder])
    for i in range(0, min(len(paths), 12)):
        cases[f"single {i}"] = pixels[i : i + 1]
    return cases


def doubts(model, array):
    """The causes that `octet run` names."""
    numpy = need("numpy")
    path = scratch() / f"{model.name}_data.npz"
    numpy.savez(path, data=array)
    said = octet("run", model.engine(), path, "--json")
    assert said.json["prepared"][0]["line"] == "arrays: taken as they are"
    return {doubt["cause"] for doubt in said.json["doubts"]}


def table(name, model, most):
    """Lines of the table: mistakes named, and false alarms."""
    paths = model.paths()[:: max(1, len(model.paths()) // most)]
    lines = []
    for case, (array, causes) in wrong(model, model.pixels(paths)).items():
        found = {count: doubts(model, array[:count]) for count in (1, 4, len(array))}
        marks = ["yes" if found[count] & causes else "warned" if found[count] else "no" for count in (1, 4, len(array))]
        lines.append(f"| {name} | {case} | {' | '.join(marks)} |")
    alarms = {case: doubts(model, model.prepared(pixels)) for case, pixels in right(model, paths).items()}
    lines.append(f"| {name} | right data of {len(alarms)} kinds: false alarms | {sum(map(bool, alarms.values()))} | | |")
    lines += [f"| {name} | FALSE ALARM {case}: {found} | | | |" for case, found in alarms.items() if found]
    return lines


def main():
    print("| model | made with real photos | named with 1 photo | with 4 | with all |\n|---|---|---|---|---|")
    for name, model in MODELS.items():
        print("\n".join(table(name, model, 60)), flush=True)


if __name__ == "__main__":
    harness.need("numpy")
    main()
