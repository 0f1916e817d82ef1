"""The process that has the Spark that nodes share, and what every process does that has one."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from auroral.engine.footprint import footprint_of
from auroral.engine.session import start_session
from auroral.engine.shared import gateway_of, jvm_lives, jvm_of, stop_own
from auroral.model.errors import AuroralError
from auroral.node.evaluator import Session
from auroral.node.fleet.process import Process

_LOOK_EVERY = 0.5


class SparkProcess(Process):
    """Has the Spark that the nodes on this machine share."""

    async def prepare(self) -> None:
        session = await own_session(self, self.deployed.agreed.master)
        self.known = {"gateway": asdict(gateway_of(session))}


async def own_session(process: Process, master: str, cores: int | None = None) -> Session:
    """For as long as the process lives. Without its JVM it is of no use: it ends, and is started again with a new one."""
    session = await asyncio.to_thread(start_session, master, cores=cores)
    process.opened.push_async_callback(asyncio.to_thread, stop_own, session)
    process.jvm, process.footprint = jvm_of(session), await asyncio.to_thread(footprint_of, session)
    process.in_the_background(_watch(session))
    return session


async def _watch(session: Session) -> None:
    while jvm_lives(session):
        await asyncio.sleep(_LOOK_EVERY)
    raise AuroralError("the JVM of Spark has ended\n    next: auroral up starts another, and all that used it")
