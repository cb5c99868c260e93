"""Ask for a task: everything that can be refused is refused before it waits in the queue."""

from uuid import uuid4

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.core.tasks.request import EvaluateModel, ExportModel, TaskRequest
from tunix_rt.core.tasks.task import Task
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.db.tasks import TaskRepository
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.models.export import require_form
from tunix_rt.models.find import resolve
from tunix_rt.serving.names import find_served


def ask_for(home: Home, request: TaskRequest) -> Task:
    """Put a task into the queue.

    Raises:
        NotFoundError: There is no such model or eval set.
        InvalidInputError: It cannot be exported like that, or there are fewer items than asked for.
        DataError: The eval set cannot be used.
        MissingExtraError: A checker that it needs is not installed.
    """
    model = _evaluable(home, request) if isinstance(request, EvaluateModel) else _exportable(home, request)
    return TaskRepository(home.database).add(uuid4(), model, request)


def _evaluable(home: Home, request: EvaluateModel) -> str:
    evalset = named_evalset(home.settings, request.eval_set)
    if request.limit is not None and request.limit > len(evalset.items):
        raise InvalidInputError(
            f"{request.eval_set} has {len(evalset.items)} items, fewer than {request.limit}.",
            next_step="Ask for fewer, or leave the limit out.",
        )
    require_checkers(evalset.items)
    return find_served(home, request.model).root


def _exportable(home: Home, request: ExportModel) -> str:
    version = resolve(home, request.model)
    require_form(version, request.form)
    return version.reference
