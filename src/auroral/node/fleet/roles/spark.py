"""The process that has the Spark of the nodes on this machine."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from auroral.engine.session import start_session
from auroral.engine.shared import gateway_of, jvm_lives
from auroral.model.errors import AuroralError
from auroral.node.fleet.process import Process


class SparkProcess(Process):
    """Has the Spark that the nodes on this machine share."""

    async def prepare(self) -> None:
        self.session = await asyncio.to_thread(start_session, self.deployed.agreed.master)
        self.known = {"gateway": asdict(gateway_of(self.session))}
        self.in_the_background(self._watch())

    async def _watch(self) -> None:
        """Without its JVM it is of no use: it ends, and is started again with a new one."""
        while jvm_lives(self.session):
            await asyncio.sleep(0.5)
        raise AuroralError("the JVM of Spark has ended\n    next: auroral up starts another, and the nodes with it")
