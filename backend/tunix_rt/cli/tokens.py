"""`tunix-rt tokens …`: who may ask over the network."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json, print_table, say
from tunix_rt.core.access import ApiToken, Scope
from tunix_rt.db.tokens import TokenRepository
from tunix_rt.services.tokens import adopt_token, create_token, revoke_token, standing_of

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose it is, or what for.")]
ScopeOption = Annotated[
    Scope, typer.Option(help="read: look and ask models; write: submit and change; admin: delete too.")
]
Days = Annotated[int | None, typer.Option(min=1, max=3650, help="Days until it expires. Default: never.")]
FromFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Accept the token in this file; the same again changes nothing."),
]


def create(
    name: Name,
    scope: ScopeOption = "read",
    days: Days = None,
    from_file: FromFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a token. It is printed once, and only its hash is kept; docs/security.md says more."""
    lifetime = None if days is None else timedelta(days=days)
    if from_file is not None:
        with opened_home() as home:
            adopted = adopt_token(TokenRepository(home.database), from_file, name, scope, lifetime=lifetime)
        print_json(adopted.to_json()) if as_json else say(f"The token {adopted.token_id} is accepted.")
        return
    with opened_home() as home:
        made, token = create_token(TokenRepository(home.database), name, scope, lifetime=lifetime)
    if as_json:
        print_json({"token": token, **made.to_json()})
        return
    note(f"The token {made.token_id} ({made.scope}); keep it now, it is not shown again:")
    say(token)


def list_(as_json: JsonFlag = False) -> None:
    """List the tokens: what they may do, and when each was last used."""
    with opened_home() as home:
        found = TokenRepository(home.database).list()
    if as_json:
        print_json({"data": [{**token.to_json(), "standing": standing_of(token)} for token in found]})
    elif found:
        columns = ("id", "name", "scope", "standing", "made", "expires", "last used")
        print_table(columns, [_row(token) for token in found])
    else:
        say("There are no tokens yet. Make one: tunix-rt tokens create NAME --scope read")


def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `tokens list` shows it.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a token worthless. Servers that run notice within seconds."""
    with opened_home() as home:
        revoked = revoke_token(TokenRepository(home.database), token_id)
    print_json(revoked.to_json()) if as_json else say(f"The token {token_id} opens nothing any more.")


def _row(token: ApiToken) -> tuple[object, ...]:
    moments = (token.created_at, token.expires_at, token.last_used_at)
    texts = [None if moment is None else f"{moment:%Y-%m-%d %H:%M}" for moment in moments]
    return token.token_id, token.name, token.scope, standing_of(token), *texts
