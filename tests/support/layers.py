"""Which imports of a package go against the order of its layers, or hide inside functions.

Only the text of the modules is looked at, so that an import counts also where it is never run: under TYPE_CHECKING, or
in a branch for another platform.
"""

import ast
import sys

#: A module imports from its own layer and from those before it.
LAYERS = (
    "support",
    "core",
    "io",
    "data",
    "datasets",
    "embed",
    "model",
    "networks",
    "methods",
    "report",
    "model_selection",
    "evaluation",
    "cli",
)
#: What users import; nothing inside the package does. The compiled core is before all layers.
FACADES = ("__init__", "__main__", "checks", "exceptions", "metrics", "plots")
#: Layers whose own names are for users, too: they are imported when they are first used.
LAZY_NAMES = ("core", "methods")
COMPILED = "_core"
#: Commands load what they run when they run it.
LAZY = "cli"


def violations(sources, package="jcmspl"):
    """Return a sentence for each import that breaks the rules.

    Parameters
    ----------
    sources : dict of str to str
        Paths of modules, relative to the package and with "/", and what is in them.
    package : str
    """
    found = []
    for path, source in sorted(sources.items()):
        layer = _layer_of(path)
        if layer in FACADES:
            continue
        if layer not in LAYERS:
            found.append(f"{path}: belongs to no layer")
            continue
        for line, inside_function, module in _imports(ast.parse(source), path, package):
            reason = _reason(layer, module.split("."), package) or (
                inside_function and layer != LAZY and _hidden(module, package)
            )
            if reason:
                found.append(f"{path}:{line}: {module}: {reason}")
    return found


def sources_of(folder):
    """Return the modules below a folder as violations() takes them."""
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}


def _layer_of(path):
    return path.split("/")[0].removesuffix(".py")


def _reason(layer, parts, package):
    if parts[0] != package:
        return None
    target = parts[1] if len(parts) > 1 else package
    if target == COMPILED:
        return None
    if target not in LAYERS:
        return "is for users, not for the package itself"
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"{layer} comes before {target}"
    if parts[-1] == "*":
        return "its names are for users; import the module that defines them"
    return None


def _hidden(module, package):
    first = module.split(".")[0]
    if first == package:
        return "is imported inside a function, where it hides"
    if first in sys.stdlib_module_names:
        return "is imported inside a function, although it is neither optional nor slow to load"
    return None


def _imports(tree, path, package):
    """Yield (line, whether inside a function, name of the module) of each import."""
    for node, inside_function in _walk(tree, False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, inside_function, alias.name
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, path, package)
            # "from package import name" imports a layer, the compiled core or something of the facade
            names = [f"{module}.{alias.name}" for alias in node.names] if module == package else [module]
            if module in {f"{package}.{layer}" for layer in LAZY_NAMES}:
                names = [f"{module}.*"]
            for name in names:
                yield node.lineno, inside_function, name
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield node.lineno, inside_function, argument.value


def _walk(node, inside_function):
    for child in ast.iter_child_nodes(node):
        yield child, inside_function
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, inside_function or function)


def _called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def _absolute(node, path, package):
    """Return the full name of the module that names are imported from."""
    if not node.level:
        return node.module
    parents = [package, *path.split("/")[:-1]]
    return ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])
