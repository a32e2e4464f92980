# SPDX-License-Identifier: Apache-2.0
"""The interfaces that a class of a program names beside IPluginV3: IPluginV3OneCore and its like.

They have no code: the native half asks the object for its methods. As bases they leave a note in the class and no base, since a native class
of Python's stable interface (nanobind-backend) takes no second one.
"""


class Part:
    """A name among the bases of a class (PEP 560). isinstance() and issubclass() know it again."""

    def __init__(self, *_):
        """Programs call the initializer of each of their bases."""

    def __mro_entries__(self, bases):
        return ()

    def __subclasscheck__(self, cls):
        if isinstance(cls, Part):
            return self is cls or any(issubclass(above, self) for above in cls.above)
        noted = [base for one in cls.__mro__ for base in vars(one).get("__orig_bases__", ())]
        return any(isinstance(base, Part) and issubclass(base, self) for base in noted)

    def __instancecheck__(self, instance):
        return not isinstance(instance, Part) and issubclass(type(instance), self)

    def __call__(self, *_):
        raise TypeError(f"{self.__name__} is a base of plugins' classes, beside IPluginV3")

    def __repr__(self):
        return f"<interface 'tensorrt.{self.__name__}'>"


def _part(name, *above):
    part = object.__new__(Part)
    part.__name__ = part.__qualname__ = name
    part.__module__ = "tensorrt"
    part.above = above
    return part


IPluginCapability = _part("IPluginCapability")
IPluginV3OneCore = _part("IPluginV3OneCore", IPluginCapability)
IPluginV3OneBuild = _part("IPluginV3OneBuild", IPluginCapability)
IPluginV3OneBuildV2 = _part("IPluginV3OneBuildV2", IPluginV3OneBuild)
IPluginV3OneRuntime = _part("IPluginV3OneRuntime", IPluginCapability)
