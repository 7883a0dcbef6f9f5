# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One entry on the host and on the device, sample by sample, compared on the host."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import forms
import torch
from table import FUNCTION, IN_PLACE, NON_CONTIGUOUS, OUT, Item, Outcome
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

# Memory that nobody has written yet.
UNDEFINED = frozenset(
    {
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    }
)
# PyTorch's documentation demands these arguments on the host, whatever the device.
ONLY_INPUT_MOVES = frozenset({"tensor_split"})
# Which of equal values these take is PyTorch's own choice: they get values that differ.
TIES_ARE_OPEN = frozenset({"kthvalue", "mode", "topk"})
SAMPLES_LOOKED_AT = 96
# What falls back is equal to the bit; kernels may add up in another order. A gradient
# that is a sum of many which cancel out has an error of the size of those, not of its own.
RTOL, ATOL, GRADIENT_ATOL = 1e-4, 1e-5, 1e-4


class Watch(TorchDispatchMode):
    """Remembers the operators that are asked of the device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators: list[torch._ops.OpOverload] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.operators.append(func)
        return func(*args, **(kwargs or {}))

    @property
    def draws(self) -> bool:
        tag = torch.Tag.nondeterministic_seeded
        return any(tag in operator.tags for operator in self.operators)

    @property
    def is_native(self) -> bool:
        return len(self.operators) == 1 and _has_kernel(self.operators[0])


def _has_kernel(operator: torch._ops.OpOverload) -> bool:
    """For the operator, or for the form with `out` that PyTorch makes it of."""
    packet = operator.overloadpacket
    names = {operator.name()}
    for overload in packet.overloads():
        if "out" in overload:
            names.add(getattr(packet, overload).name())
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(has(name, "PrivateUse1") for name in names)


@dataclass
class Run:
    """What one call came to, everything on the host."""

    result: Any
    arguments: Any  # as the call left them
    gradients: list[torch.Tensor | None] | None
    written: list[Any]  # strides and storages of what it was to write


@dataclass(frozen=True)
class Program:
    """What is called."""

    entry: Any
    sample: Any
    form: str
    out: Any = None  # on the host
    result: Any = None  # of the function, where there is an `out`

    def run(self, device: torch.device, value: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Returns the result, and what was to be written."""
        function = forms.function(self.entry, self.form)
        if self.form != OUT:
            return function(value, *args, **kwargs), value if self.form == IN_PLACE else None
        out = tree_map(_place(device), self.out)
        # Several outputs come as a tuple of PyTorch's own kind.
        out = tuple(out) if isinstance(out, (tuple, list)) else out
        return function(value, *args, **kwargs, out=out), out


class WrongError(Exception):
    """The device's answer is not the host's."""


def pick(samples: Iterator[Any], most: int) -> tuple[list[Any], int]:
    """`most` of the samples, spread over those looked at: the first ones are often the simplest."""
    seen = list(itertools.islice(samples, SAMPLES_LOOKED_AT))
    if len(seen) <= most:
        return seen, len(seen)
    step = (len(seen) - 1) / (most - 1)
    return [seen[round(i * step)] for i in range(most)], len(seen)


def _without_ties(sample: Any) -> Any:
    """Returns a sample of whole numbers with others, no two of which are equal."""
    if sample.input.is_floating_point():
        return sample
    values = torch.randperm(sample.input.numel()).to(sample.input.dtype)
    sample.input = values.reshape(sample.input.shape)
    return sample


def _place(device: torch.device) -> Callable[[Any], Any]:
    def place(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return forms.placed(value, device).requires_grad_(value.requires_grad)
        if isinstance(value, torch.device):
            return device
        return str(device) if isinstance(value, str) and value == "cpu" else value

    return place


def _arguments(
    entry: Any, sample: Any, device: torch.device
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    others = torch.device("cpu") if entry.name in ONLY_INPUT_MOVES else device
    return (
        tree_map(_place(device), sample.input),
        tree_map(_place(others), tuple(sample.args)),
        tree_map(_place(others), dict(sample.kwargs)),
    )


def _gradients(sample: Any, result: Any, arguments: Any) -> list[torch.Tensor | None] | None:
    inputs = [
        tensor for tensor in forms.tensors(arguments) if tensor.requires_grad and tensor.is_leaf
    ]
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    outputs = [tensor for tensor in forms.tensors(result) if tensor.requires_grad]
    if not inputs or not outputs:
        return None
    generator = torch.Generator().manual_seed(0)
    seeds = [
        torch.randn(output.shape, generator=generator, dtype=output.dtype).to(output.device)
        for output in outputs
    ]
    found = torch.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    return [None if gradient is None else gradient.detach().cpu() for gradient in found]


def _to_host(value: Any) -> Any:
    return tree_map(lambda x: x.detach().cpu() if isinstance(x, torch.Tensor) else x, value)


def call(
    program: Program,
    device: torch.device,
    wants_gradients: bool,
    watch: AbstractContextManager[Any] | None = None,
) -> Run:
    torch.manual_seed(0)
    arguments = _arguments(program.entry, program.sample, device)
    # A factory that is told of no device makes its tensor on this one.
    with device, watch or nullcontext():
        result, written = program.run(device, *arguments)
    gradients = _gradients(program.sample, result, arguments) if wants_gradients else None
    for tensor in forms.tensors(result):
        if device.type != "cpu" and tensor.device.type == "cpu" and tensor.dim() > 0:
            raise WrongError(f"a result is on {tensor.device}")
    laid_out = forms.laid_out(written)
    return Run(_to_host(result), _to_host(arguments), gradients, laid_out)


def _compare(what: str, actual: Any, expected: Any, values: bool, atol: float = ATOL) -> None:
    ours, our_spec = tree_flatten(actual)
    theirs, their_spec = tree_flatten(expected)
    if len(ours) != len(theirs):
        raise WrongError(f"{what}: {our_spec} instead of {their_spec}")
    for mine, other in zip(ours, theirs, strict=True):
        if not isinstance(other, torch.Tensor):
            if isinstance(other, (int, float, bool, complex)) and values and mine != other:
                _compare(what, torch.tensor(mine), torch.tensor(other), values, atol)
        elif mine.dtype != other.dtype or mine.shape != other.shape:
            raise WrongError(
                f"{what}: {mine.dtype} {tuple(mine.shape)} instead of "
                f"{other.dtype} {tuple(other.shape)}"
            )
        elif values:
            _compare_values(what, mine, other, atol)


def _compare_values(what: str, actual: torch.Tensor, expected: torch.Tensor, atol: float) -> None:
    try:
        torch.testing.assert_close(actual, expected, rtol=RTOL, atol=atol, equal_nan=True)
    except AssertionError as error:
        raise WrongError(f"{what}: {error}") from None


def compare(ours: Run, theirs: Run, values: bool) -> None:
    _compare("result", ours.result, theirs.result, values)
    _compare("an argument afterwards", ours.arguments, theirs.arguments, values)
    _compare("what was written, and between", ours.written, theirs.written, values)
    _compare("gradient", ours.gradients, theirs.gradients, values, GRADIENT_ATOL)


class Judge:
    """Runs samples of one entry, and gathers what they came to."""

    def __init__(self, backend: DeviceModule, entry: Any, item: Item) -> None:
        self.backend = backend
        self.entry = entry
        self.device = torch.device(backend.backend_name, 0)
        self.host = torch.device("cpu")
        self.dtype: torch.dtype = getattr(torch, item.dtype)
        self.form = item.form
        undefined = entry.name in UNDEFINED
        self.outcome = Outcome(item.title, item.dtype, form=item.form, undefined=undefined)
        self.unanswered = ""  # the CPU's first error
        self.called: set[str] = set()

    def judge(self, most: int) -> Outcome:
        has_gradients = (
            self.form in (FUNCTION, NON_CONTIGUOUS)
            and self.entry.supports_autograd
            and self.dtype in self.entry.supported_backward_dtypes("cpu")
        )
        torch.manual_seed(0)
        samples = self.entry.sample_inputs("cpu", self.dtype, requires_grad=has_gradients)
        chosen, self.outcome.available = pick(samples, most)
        if self.entry.name in TIES_ARE_OPEN:
            chosen = [_without_ties(sample) for sample in chosen]
        self.backend.reset_fallbacks()
        for number, sample in enumerate(chosen):
            self._judge_sample(sample, number, has_gradients)
        self.outcome.fallbacks = sorted({each.operator for each in self.backend.fallbacks()})
        self.outcome.calls = sorted(self.called)
        self.outcome.finish(self.unanswered)
        return self.outcome

    def _program(self, sample: Any, number: int) -> Program:
        """Errors: what the CPU raises for the result that an output is made like."""
        sample = forms.sample_of(sample, self.form, number)
        if self.form != OUT:
            return Program(self.entry, sample, self.form)
        made = call(Program(self.entry, sample, FUNCTION), self.host, False)
        return Program(self.entry, sample, self.form, forms.outs(made.result, number), made.result)

    def _judge_sample(self, sample: Any, number: int, has_gradients: bool) -> None:
        program = None
        try:
            program = self._program(sample, number)
            expected = call(program, self.host, has_gradients)
            told = self.form == OUT and not self.outcome.undefined
            if told and not forms.agree(expected.result, program.result):
                raise WrongError("PyTorch's CPU writes another result than it returns")
        except Exception as error:  # no answer of PyTorch's own to compare with
            self.unanswered = self.unanswered or f"{type(error).__name__}: {error}"
            if program is not None and not isinstance(error, WrongError):
                self._judge_refusal(program, error)
            return
        self.outcome.samples += 1
        try:
            self._judge_against(expected, program, has_gradients)
        except NotImplementedError as error:
            self.outcome.worsen("refused", str(error))
        except WrongError as error:
            self.outcome.worsen("wrong", str(error))
        except Exception as error:  # whatever it is, the CPU had none
            self.outcome.worsen("wrong", f"{type(error).__name__}: {error}")

    def _judge_refusal(self, program: Program, error: Exception) -> None:
        """What PyTorch's CPU refuses to write, the device may not write."""
        if self.form not in (IN_PLACE, OUT):
            return
        try:
            call(program, self.device, False)
        except Exception:  # as it should be
            return
        text = " ".join(str(error).split())[:200]
        self.outcome.worsen("wrong", f"accepts what PyTorch's CPU refuses: {text}")

    def _judge_against(self, expected: Run, program: Program, has_gradients: bool) -> None:
        watch = Watch()
        try:
            ours = call(program, self.device, False, watch)
        finally:
            self.called.update(operator.name() for operator in watch.operators)
        if not watch.is_native:
            self.outcome.worsen("composite")
        self.outcome.random |= watch.draws
        # Under a dispatch mode PyTorch itself leaves some outputs unwritten.
        if has_gradients or watch.draws or self.form == OUT:
            first, ours = ours, call(program, self.device, has_gradients)
            if not self.outcome.undefined and self.form != OUT:
                _compare("the same seed again", ours.result, first.result, True)
        compare(ours, expected, not self.outcome.random and not self.outcome.undefined)
        self.outcome.backward += ours.gradients is not None


def judge(backend: DeviceModule, entry: Any, item: Item, most: int) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Judge(backend, entry, item).judge(most)
