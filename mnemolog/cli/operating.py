"""Verbs of operators: init, replay, serve, keys, policy, doctor, demo."""

from __future__ import annotations

import sys
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress

from gateway.http.server import bind, serve
from mnemolog.cli.session import NEGATIVE, Kafka, Session, note, say, session
from mnemolog.data_directory import DEFAULT_PARTITIONS
from mnemolog.demo import run_demo
from mnemolog.doctor import examine
from mnemolog.doors import EmbeddedDoor
from mnemolog.long_running import tune
from schemas import answers
from schemas.errors import StoreDamaged, StoreUnusable, Unavailable, invalid
from schemas.kinds import TIER_OF_WORD, Role
from schemas.policy import load
from schemas.registry import Grant, RegistryFile

keys = typer.Typer(no_args_is_help=True, help="API keys.", rich_markup_mode=None)
policy = typer.Typer(no_args_is_help=True, help="The policy.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("init")(init)
    app.command("replay")(replay)
    app.command("serve")(serve_)
    app.command("doctor")(doctor)
    app.command("demo")(demo)
    app.add_typer(keys, name="keys")
    app.add_typer(policy, name="policy")


def init(
    context: typer.Context,
    partitions: int = typer.Option(DEFAULT_PARTITIONS, help="Fixed for good."),
) -> None:
    """Make a data directory."""
    asked = session(context)
    directory = asked.directory
    if not directory.exists:
        directory.init(partitions)
    manifest = directory.manifest()
    asked.master()
    if manifest.partitions != partitions and partitions != DEFAULT_PARTITIONS:
        raise Unavailable(
            "data",
            f"{asked.data} has {manifest.partitions} partitions already",
            "the count is fixed at creation; use another directory",
        )
    plain = {"data": str(asked.data), "partitions": manifest.partitions, "id": manifest.id}
    asked.answer(plain, lambda: say(f"{asked.data}: ready, {manifest.partitions} partitions"))


def replay(context: typer.Context) -> None:
    """Rebuild the projections from the ledger, then switch to them at once."""
    asked = session(context)
    try:
        done = _replay(asked)
    except (StoreUnusable, StoreDamaged) as error:
        note(f"{error.part}: {error.detail}: given up")
        asked.directory.give_up_projections()
        with asked.door() as door:  # opening it has rebuilt them
            found = door.verify(deep=False)
        done = {str(one.partition): one.entries for one in found.partitions}
    plain = {"entries": sum(done.values()), "partitions": done}
    asked.answer(plain, lambda: say(f"rebuilt from {plain['entries']} entries"))


def _replay(asked: Session) -> dict[str, int]:
    console = Console(file=sys.stderr)
    with (
        asked.door() as door,
        Progress(console=console, disable=not sys.stderr.isatty(), transient=True) as bar,
    ):
        task = bar.add_task("replay", total=None)
        return door.replay(lambda folded, total: bar.update(task, completed=folded, total=total))


def serve_(
    context: typer.Context,
    host: str = typer.Option("127.0.0.1", help="Where to listen."),
    port: int = typer.Option(8080, help="0 picks a free one."),
) -> None:
    """The embedded runtime with HTTP."""
    asked = session(context)
    door = EmbeddedDoor.open(asked.data, create=True)
    try:
        listener = bind(host, port)

        def ready(url: str) -> None:
            asked.directory.announce(url)
            asked.answer({"url": url}, lambda: say(f"serving {asked.data} at {url}"))
            sys.stdout.flush()

        tune()
        serve(door.app(), listener, ready)
    finally:
        asked.directory.withdraw()
        door.close()


def doctor(context: typer.Context, kafka: str | None = Kafka) -> None:
    """What is wrong, in plain words, and what to type next."""
    asked = session(context)
    findings = examine(asked.directory, kafka)
    bad = [finding for finding in findings if not finding.ok]

    def human() -> None:
        for finding in findings:
            say(f"{'ok   ' if finding.ok else 'WRONG'} {finding.what}: {finding.detail}")
            if not finding.ok:
                say(f"      type: {finding.remedy}")

    plain = {
        "ok": not bad,
        "findings": [
            {"what": f.what, "ok": f.ok, "detail": f.detail, "remedy": f.remedy} for f in findings
        ],
    }
    asked.answer(plain, human)
    raise typer.Exit(NEGATIVE if bad else 0)


def demo(context: typer.Context, kafka: str | None = typer.Option(None, "--kafka")) -> None:
    """Watch events go in and answers come out, on example data."""
    raise typer.Exit(run_demo(kafka))


def _registry(context: typer.Context) -> RegistryFile:
    asked = session(context)
    return RegistryFile(asked.data / "keys.json", asked.master())


@keys.command("add")
def keys_add(
    context: typer.Context,
    name: str,
    role: list[str] = typer.Option(..., help="writer,reader,historian,auditor,operator"),
    tenant: str = typer.Option(..., envvar="MNEMOLOG_TENANT", help="One value, or * for every."),
    namespace: str = typer.Option("*", envvar="MNEMOLOG_NAMESPACE", help="The same."),
    subject: str = typer.Option("*", envvar="MNEMOLOG_SUBJECT", help="The same."),
    branch: str = typer.Option("*", help="The same."),
    trust: str = typer.Option("service", help="operator, service, user or untrusted."),
    secret: bool = typer.Option(False, "--secret", help="Also an HMAC secret, to sign with."),
    ed25519: str | None = typer.Option(None, help="The public key it signs with, in hex."),
) -> None:
    """Make an API key; it is shown this once."""
    asked = session(context)
    words = [word.strip() for part in role for word in part.split(",") if word.strip()]
    unknown = sorted(set(words) - set(Role))
    if unknown:
        raise invalid(
            "unknown_symbol", "role", f"{unknown[0]} is no role", "use: " + ", ".join(Role)
        )
    if trust not in TIER_OF_WORD:
        raise invalid(
            "unknown_symbol", "trust", f"{trust} is no tier", "use: " + ", ".join(TIER_OF_WORD)
        )
    issued = _registry(context).add(
        name,
        [Role(word) for word in words],
        [Grant(tenant, namespace, subject, branch)],
        TIER_OF_WORD[trust],
        with_secret=secret,
        ed25519_public=_public_key(ed25519),
    )
    plain = answers.NewKey(name=name, key=issued.key).model_dump(mode="json")
    if issued.secret is not None:
        plain["secret"] = issued.secret.hex()

    def human() -> None:
        say(f"{name}: {issued.key}")
        if issued.secret is not None:
            say(f"HMAC secret: {issued.secret.hex()}")
        say("(shown this once)")

    asked.answer(plain, human)


def _public_key(text: str | None) -> bytes | None:
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise invalid(
            "invalid", "ed25519", "it is not hexadecimal", "give the 32 bytes as 64 hex digits"
        ) from None


@keys.command("list")
def keys_list(context: typer.Context) -> None:
    """Who has keys."""
    asked = session(context)
    plain: list[dict[str, Any]] = [
        {
            "name": principal.name,
            "trust": principal.tier.word,
            "roles": sorted(principal.roles),
            "grants": [
                {
                    "tenant": g.tenant,
                    "namespace": g.namespace,
                    "subject": g.subject,
                    "branch": g.branch,
                }
                for g in principal.grants
            ],
            "revoked": principal.revoked,
        }
        for principal in _registry(context).list()
    ]

    def human() -> None:
        for one in plain:
            state = "revoked" if one["revoked"] else ", ".join(one["roles"])
            say(f"{one['name']:20} {one['trust']:10} {state}")

    asked.answer(plain, human)


@keys.command("revoke")
def keys_revoke(context: typer.Context, name: str) -> None:
    """End a key for good."""
    asked = session(context)
    _registry(context).revoke(name)
    asked.answer({"name": name, "revoked": True}, lambda: say(f"{name}: revoked"))


@policy.command("show")
def policy_show(context: typer.Context) -> None:
    """The policy in force."""
    asked = session(context)
    in_force = load(asked.data / "policy.toml")
    plain = {"version": in_force.version.hex(), **in_force.describe()}

    def human() -> None:
        for name, value in plain.items():
            say(f"{name}: {value}")

    asked.answer(plain, human)
