"""Checks of the training: recipe, metrics, events, times, devices and the log state the same."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tunix_rt.engines.planning.step import num_steps
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import (
    MetricsLine,
    RunEnvironment,
    RunEvent,
    RunManifest,
    ValidationLine,
)
from tunix_rt.evidence.checks.batches import batch_problems
from tunix_rt.evidence.reader import Contents, ResolvedRecipeFile
from tunix_rt.evidence.types import EvidenceManifest

CLOCK_SLACK = timedelta(seconds=2)
"""Clocks are corrected while a run trains: by that much, a later time may be smaller."""
_LEARNING_RATE_TOLERANCE = 1e-4
"""Relative. JAX computes the schedule in float32."""
_SPEED_RATIO = 2.0
"""Factor by which the logged speeds may differ from the times at which the lines were written. The times are
those of reading a step, which is done later than the step."""
_LONG_S = 1.0
_NUM_IN_FLIGHT = 2
"""Steps that are started before a line is written."""
_PROGRESS = re.compile(r"step (\d+)/(\d+) \| loss (\S+) \| lr (\S+)")
_VALIDATION = re.compile(r"step (\d+): validation loss (\S+)")
_DEVICES = re.compile(r"devices +(\S.*)")
_DEVICE_COUNT = re.compile(r"\w+: (\d+) x ")
_DEVICE_SIZE = re.compile(r", ([\d.]+) GiB each")
_GIB = 1 << 30


def training_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Contradictions between what was to be trained, what was logged, and when."""
    manifest, recipe = contents.manifest(), contents.resolved_recipe()
    events, log = list(contents.events()), _read_log(contents)
    # A process that finds no checkpoint starts again.
    restarted_at = [event.time for event in events[1:] if event.kind in ("started", "resumed")]
    is_resumed = bool(restarted_at)
    yield from _recipe_problems(manifest, recipe)
    yield from _event_problems(manifest, recipe, events, is_resumed=is_resumed)
    yield from _time_problems(manifest, events, is_resumed=is_resumed)
    if contents.has("environment.json"):
        yield from _device_problems(manifest, contents.environment(), log)
    if contents.has("plan.json"):
        yield from _plan_problems(contents.plan(), manifest, events)
    if contents.has("metrics.jsonl"):
        started_at = min([manifest.started_at, *(event.time for event in events[:1])])
        checked = _MetricsCheck(
            manifest,
            recipe,
            started_at,
            log,
            resumed_at=restarted_at,
            needs_batches=evidence.evidence_version != "1",
        )
        yield from checked.problems(contents.metrics())
        yield from checked.speed_problems()
        yield from batch_problems(contents)


def _recipe_problems(manifest: RunManifest, recipe: ResolvedRecipeFile) -> Iterator[str]:
    pairs: dict[str, tuple[Any, Any]] = {
        "model": (manifest.model, recipe.model.name),
        "mode": (manifest.mode, recipe.training.mode),
    }
    if recipe.data.dataset is not None:  # none: the run was trained on a file
        pairs["dataset"] = manifest.dataset, recipe.data.dataset
    figures = manifest.figures
    if figures is not None and recipe.training.num_steps is not None:
        pairs["num_planned_steps"] = figures.num_planned_steps, recipe.training.num_steps
    for name, (stated, wanted) in pairs.items():
        if stated != wanted:
            yield f"run_manifest.json has {name} {stated}, recipe.resolved.json {wanted}"


def _event_problems(
    manifest: RunManifest, recipe: ResolvedRecipeFile, events: list[RunEvent], *, is_resumed: bool
) -> Iterator[str]:
    if events and events[0].kind != "started":
        yield f"events.jsonl begins with {events[0].kind!r}"
    if events and events[0].kind == "started" and events[0].message != f"run {manifest.run_id}":
        yield f"events.jsonl belongs to another run: {events[0].message!r}"
    used = {
        event.details.get("key"): event.details.get("used_value") for event in events if _is_override(event)
    }
    for override in recipe.overrides:
        if override.key not in used or used[override.key] != override.model_dump(mode="json")["used_value"]:
            yield f"recipe.resolved.json has an override of {override.key} that events.jsonl does not have"
    if not is_resumed and used.keys() != {override.key for override in recipe.overrides}:
        yield "events.jsonl has other overrides than recipe.resolved.json"
    figures = manifest.figures
    if figures is None:
        return
    for event in events:
        step = event.details.get("step")
        if event.kind in ("checkpoint", "exported") and isinstance(step, int) and step > figures.num_steps:
            yield f"events.jsonl has a step {step}; the run made {figures.num_steps}"
        if event.kind == "exported" and step != figures.exported_step:
            yield f"events.jsonl exported step {step}, run_manifest.json has {figures.exported_step}"
    is_short = figures.num_steps < figures.num_planned_steps
    if (
        manifest.status == "succeeded"
        and is_short
        and not any(event.kind == "early-stop" for event in events)
    ):
        yield f"the run succeeded after {figures.num_steps} of {figures.num_planned_steps} steps"
    if figures.num_steps > figures.num_planned_steps:
        yield f"the run made {figures.num_steps} steps, more than the {figures.num_planned_steps} planned"


def _is_override(event: RunEvent) -> bool:
    return event.kind == "override" and "key" in event.details


def _time_problems(manifest: RunManifest, events: list[RunEvent], *, is_resumed: bool) -> Iterator[str]:
    wall = manifest.finished_at - manifest.started_at
    if wall < timedelta(0):
        yield f"the run ended at {manifest.finished_at}, before it started at {manifest.started_at}"
        return
    for name, seconds in manifest.durations_s.items():
        if seconds > (wall + CLOCK_SLACK).total_seconds():
            yield f"run_manifest.json: {name} took {seconds} s of a run of {wall.total_seconds():.1f} s"
    latest = None if is_resumed else manifest.started_at
    for event in events:
        if latest is not None and event.time < latest - CLOCK_SLACK:
            yield f"events.jsonl: event {event.sequence} has the time {event.time}, before {latest}"
        latest = event.time if latest is None else max(latest, event.time)
    if latest is not None and latest > manifest.finished_at + CLOCK_SLACK:
        yield f"events.jsonl goes to {latest}; the run ended at {manifest.finished_at}"


def _device_problems(manifest: RunManifest, environment: RunEnvironment, log: "_Log") -> Iterator[str]:
    if log.devices and environment.device not in log.devices:
        yield f"environment.json has the device {environment.device!r}, log.txt {log.devices[-1]!r}"
    elif not log.devices:
        yield "log.txt does not name the devices"
    count = _DEVICE_COUNT.match(environment.device)
    if count is not None and int(count[1]) != len(environment.devices):
        yield f"environment.json: {environment.device!r} has {len(environment.devices)} devices"
    size, num_bytes = _DEVICE_SIZE.search(environment.device), environment.device_memory_bytes
    if size is not None and num_bytes is not None and size[1] != f"{num_bytes / _GIB:.2f}":
        yield f"environment.json: {environment.device!r} has {num_bytes} bytes"
    versions = environment.installed or {}
    for name, version in environment.packages.items():
        if versions and versions.get(name, version) != version:
            yield f"environment.json has {name} {version} and {versions[name]}"
    own = environment.packages.get("tunix-rt", manifest.tunix_rt_version)
    if own != manifest.tunix_rt_version:
        yield f"environment.json has tunix-rt {own}, run_manifest.json {manifest.tunix_rt_version}"


def _plan_problems(plan: Plan, manifest: RunManifest, events: list[RunEvent]) -> Iterator[str]:
    if plan.model != manifest.model:
        yield f"plan.json is for the model {plan.model}"
    planned = [event.message for event in events if event.kind == "plan"]
    if planned and planned[-1] != plan.reason:
        yield f"plan.json says {plan.reason!r}, events.jsonl {planned[-1]!r}"
    figures = manifest.figures
    if figures is None:
        return
    for name, stated, again in (
        ("planned_memory_bytes", figures.planned_memory_bytes, plan.per_device_bytes),
        ("num_planned_steps", figures.num_planned_steps, plan.num_steps),
    ):
        if None not in (stated, again) and stated != again:
            yield f"run_manifest.json has {name} {stated}, plan.json {again}"


@dataclass(frozen=True)
class _Log:
    """What log.txt states about steps and devices."""

    steps: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    """Step -> planned steps, loss and learning rate, as they were printed."""
    validations: dict[int, str] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)


def _read_log(contents: Contents) -> _Log:
    log = _Log()
    if not contents.has("log.txt"):
        return log
    for _, raw in contents.lines("log.txt"):
        line = raw.decode(errors="replace").rstrip("\n")
        if (found := _PROGRESS.match(line)) is not None:
            log.steps[int(found[1])] = found[2], found[3], found[4]
        elif (found := _VALIDATION.fullmatch(line)) is not None:
            log.validations[int(found[1])] = found[2]
        elif (found := _DEVICES.fullmatch(line)) is not None:
            log.devices.append(found[1])
    return log


@dataclass
class _MetricsCheck:
    """Reads metrics.jsonl once; the memory it needs does not depend on the number of lines."""

    manifest: RunManifest
    recipe: ResolvedRecipeFile
    started_at: datetime
    log: _Log
    resumed_at: list[datetime]
    needs_batches: bool
    """Whether every step must name its batch."""
    _per_epoch: int | None = None
    _last: MetricsLine | None = None
    _first: MetricsLine | None = None
    _latest: datetime | None = None
    _implied_s: float = 0.0
    """Seconds that the logged speeds make of the logged tokens."""
    _has_pause: bool = False
    """Whether a validation is between the last step and the current one."""
    _seen: set[int] = field(default_factory=set)
    _num_resumes: int = 0
    """Resumes before the current line."""

    @property
    def is_resumed(self) -> bool:
        """Whether several processes wrote the lines: of the earlier ones, less is known."""
        return bool(self.resumed_at)

    def problems(self, lines: Iterator[MetricsLine | ValidationLine]) -> Iterator[str]:
        """One line per contradiction, in the order of the file."""
        for line in lines:
            what = (
                f"step {line.step}"
                if isinstance(line, MetricsLine)
                else f"the validation of step {line.step}"
            )
            yield from (f"metrics.jsonl: {what} {problem}" for problem in self._line_problems(line))
        figures, last = self.manifest.figures, self._last
        if figures is not None and last is not None and not self.is_resumed:
            if figures.num_steps - last.step >= self.recipe.output.log_every_steps:
                yield f"metrics.jsonl ends with step {last.step}; the run made {figures.num_steps} steps"
            for step in sorted(self.log.steps.keys() - self._seen):
                yield f"log.txt has a step {step} that metrics.jsonl does not have"

    def _line_problems(self, line: MetricsLine | ValidationLine) -> Iterator[str]:
        earliest = self.started_at if self._latest is None else self._latest
        if line.time < earliest - CLOCK_SLACK:
            yield f"has the time {line.time}, before {earliest}"
        if line.time > self.manifest.finished_at + CLOCK_SLACK:
            yield f"has the time {line.time}; the run ended at {self.manifest.finished_at}"
        self._latest = line.time if self._latest is None else max(self._latest, line.time)
        yield from self._epoch_problems(line)
        if isinstance(line, ValidationLine):
            yield from self._validation_problems(line)
            self._has_pause = True
            return
        yield from self._resume_problems(line)
        yield from self._step_problems(line)
        yield from self._duration_problems(line)
        self._last, self._has_pause = line, False

    def _epoch_problems(self, line: MetricsLine | ValidationLine) -> Iterator[str]:
        if line.step == 0:
            return
        if line.epoch <= 0:
            yield f"has the epoch {line.epoch}"
            return
        if self._per_epoch is None:
            self._per_epoch = max(1, round(line.step / line.epoch))
            planned = num_steps(self.recipe, self._per_epoch)
            if self.manifest.figures is not None and planned != self.manifest.figures.num_planned_steps:
                stated = self.manifest.figures.num_planned_steps
                yield f"makes {planned} planned steps by its epoch; run_manifest.json has {stated}"
        if not math.isclose(line.epoch, line.step / self._per_epoch, rel_tol=1e-6):
            yield f"has the epoch {line.epoch}, not {line.step / self._per_epoch}"

    def _validation_problems(self, line: ValidationLine) -> Iterator[str]:
        if line.validation_loss < 0:
            yield f"has the loss {line.validation_loss}; a cross-entropy is not negative"
        every, planned = self.recipe.eval.every_steps, self._num_planned()
        if not self.is_resumed and (every is None or (line.step % every and line.step != planned)):
            yield f"was not due: recipe.resolved.json validates every {every} steps"
        printed = self.log.validations.get(line.step)
        if not self.is_resumed and printed not in (None, f"{line.validation_loss:.4f}"):
            yield f"has the loss {line.validation_loss}, log.txt {printed}"

    def _step_problems(self, line: MetricsLine) -> Iterator[str]:
        if line.batch_sha256 is None and self.needs_batches:
            yield "does not name its batch"
        if line.loss < 0:
            yield f"has the loss {line.loss}; a cross-entropy is not negative"
        if line.grad_norm < 0:
            yield f"has the gradient norm {line.grad_norm}"
        training, planned = self.recipe.training, self._num_planned()
        capacity = training.batch_size * self.recipe.data.row_length
        if not line.trained_tokens <= line.tokens <= capacity:
            yield f"has {line.trained_tokens} trained of {line.tokens} tokens; a batch has at most {capacity}"
        if planned is not None:
            expected = training.learning_rate_at(line.step - 1, planned)
            if not math.isclose(
                line.lr, expected, rel_tol=_LEARNING_RATE_TOLERANCE, abs_tol=1e-6 * training.learning_rate
            ):
                yield f"has the learning rate {line.lr:g}; by recipe.resolved.json it is {expected:g}"
        if self.is_resumed:
            return  # the earlier processes may have logged other steps
        every, before = self.recipe.output.log_every_steps, 0 if self._last is None else self._last.step
        due = (before // every + 1) * every
        due = due if planned is None or before >= planned else min(due, planned)
        if line.step != due:
            yield f"follows step {before}; the recipe logs every {every} steps, so step {due} is missing"
        printed = self.log.steps.get(line.step)
        if printed is not None:
            self._seen.add(line.step)
            known = str(planned or printed[0]), f"{line.loss:.4f}", f"{line.lr:.3g}"
            for name, mine, theirs in zip(
                ("number of steps", "loss", "learning rate"), known, printed, strict=True
            ):
                if mine != theirs:
                    yield f"has the {name} {mine}, log.txt {theirs}"

    def _resume_problems(self, line: MetricsLine) -> Iterator[str]:
        num_resumes = sum(time <= line.time for time in self.resumed_at)
        if num_resumes > self._num_resumes and line.tokens_per_s is not None:
            yield "has a speed, but it is the first of a process that was resumed"
        self._num_resumes = num_resumes

    def _duration_problems(self, line: MetricsLine) -> Iterator[str]:
        if self._first is None or self._last is None:
            self._first = line
            return
        if line.tokens_per_s is None:
            return
        if not line.tokens_per_s:
            yield "has a speed of 0 tokens/s"
            return
        implied_s = (line.step - self._last.step) * line.tokens / line.tokens_per_s
        self._implied_s += implied_s
        if self._last.step <= self._first.step + _NUM_IN_FLIGHT:
            return  # the first lines wait for the steps after them, which may still be compiled
        passed_s = (line.time - self._last.time).total_seconds()
        is_slow = implied_s > passed_s * _SPEED_RATIO + _LONG_S
        is_fast = (
            not self._has_pause and not self.is_resumed and passed_s > _LONG_S + implied_s * _SPEED_RATIO
        )
        if is_slow or (is_fast and not self._saves()):
            yield (
                f"has {line.tokens_per_s:.0f} tokens/s, which makes {implied_s:.2f} s; "
                f"it was logged {passed_s:.2f} s after the line before"
            )

    def _saves(self) -> bool:
        # Checkpoints are written between steps; their duration is only known in total.
        return self.manifest.durations_s.get("save", 0.0) > _LONG_S

    def speed_problems(self) -> Iterator[str]:
        """The logged speeds of all lines against the time that passed."""
        if self.is_resumed or self._first is None or self._last is None or not self._implied_s:
            return
        durations = self.manifest.durations_s
        passed_s = (self._last.time - self._first.time).total_seconds()
        paused_s = durations.get("validate", 0.0) + durations.get("save", 0.0)
        if not (
            (passed_s - paused_s) / _SPEED_RATIO - _LONG_S
            <= self._implied_s
            <= passed_s * _SPEED_RATIO + _LONG_S
        ):
            yield (
                f"the speeds of metrics.jsonl make {self._implied_s:.1f} s of training; "
                f"its lines were written within {passed_s:.1f} s, {paused_s:.1f} s of which were pauses"
            )

    def _num_planned(self) -> int | None:
        if self.manifest.figures is not None:
            return self.manifest.figures.num_planned_steps
        return None if self._per_epoch is None else num_steps(self.recipe, self._per_epoch)
