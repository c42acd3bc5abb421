"""Builds an agent of one's own that reads a book: python examples/own_agent.py BOOK "QUESTION"."""

import asyncio
import sys

from agents import Agent, Runner, set_tracing_disabled

from octavo import Library


async def main(path: str, question: str) -> None:
    set_tracing_disabled(True)
    async with Library.open("my-library") as library:
        await library.add(path)
        agent = Agent(name="Librarian", instructions="Answer from the books.", tools=[library.as_tool()])
        print((await Runner.run(agent, question)).final_output)


asyncio.run(main(*sys.argv[1:]))
