# SPDX-License-Identifier: Apache-2.0
"""Calls of the official OpenAI SDK, as an application makes them, with what they took."""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import openai


@dataclasses.dataclass(frozen=True)
class Answer:
    text: str
    pieces: int  # chunks that carried text
    usage_last: bool  # the last chunk, and only it, carried usage
    prompt_tokens: int
    completion_tokens: int
    first_s: float  # until the first text
    total_s: float

    @property
    def tokens_per_s(self) -> float:
        generating = self.total_s - self.first_s
        return (self.completion_tokens - 1) / generating if generating > 0 else 0.0


class Caller:
    """Counts every request that it makes: the ride compares with what was metered."""

    def __init__(self, base_url: str, key: str) -> None:
        self.client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=180)
        self.lock = threading.Lock()
        self.made = 0
        self.failed: list[str] = []

    def count(self, error: Exception | None = None) -> None:
        with self.lock:
            self.made += error is None
            if error is not None:
                self.failed.append(f"{type(error).__name__}: {error}")

    def complete(
        self, model: str, prompt: str, tokens: int, on_text: Callable[[str], None] | None = None
    ) -> Answer:
        create = functools.partial(
            self.client.completions.create, model=model, prompt=prompt, max_tokens=tokens
        )
        return self.stream(create, lambda choice: choice.text, on_text)

    def chat(
        self, model: str, question: str, tokens: int, on_text: Callable[[str], None] | None = None
    ) -> Answer:
        messages = [{"role": "user", "content": question}]
        create = functools.partial(
            self.client.chat.completions.create, model=model, messages=messages, max_tokens=tokens
        )
        return self.stream(create, lambda choice: choice.delta.content, on_text)

    def stream(
        self,
        create: Callable[..., Iterator[Any]],
        text_of: Callable[[Any], str | None],
        on_text: Callable[[str], None] | None,
    ) -> Answer:
        started, first = time.monotonic(), 0.0
        texts: list[str] = []
        usages: list[Any] = []
        try:
            for chunk in create(temperature=0, stream=True, stream_options={"include_usage": True}):
                usages.append(chunk.usage)
                text = "".join(text_of(choice) or "" for choice in chunk.choices)
                if text:
                    first = first or time.monotonic() - started
                    texts.append(text)
                    if on_text:
                        on_text(text)
        except Exception as error:
            self.count(error)
            raise
        self.count()
        usage = usages[-1] if usages else None
        return Answer(
            "".join(texts),
            len(texts),
            usage is not None and not any(usages[:-1]),
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
            first,
            time.monotonic() - started,
        )

    def call_whole(self, model: str, prompt: str, tokens: int) -> bool:
        """A call that is not streamed. Returns False when it failed; the failure is kept."""
        try:
            self.client.completions.create(
                model=model, prompt=prompt, max_tokens=tokens, temperature=0
            )
        except openai.OpenAIError as error:
            self.count(error)
            return False
        self.count()
        return True


class Load:
    """Several callers at once, each with one call after another, until stop()."""

    CALLS_MAX = 500  # of each caller: a load that nobody stops ends by itself

    def __init__(
        self, caller: Caller, model: str, prompt: str, tokens: int, callers: int = 8
    ) -> None:
        self.stopping = threading.Event()
        self.answered = 0
        self.lock = threading.Lock()
        self.threads = [
            threading.Thread(target=self.work, args=(caller, model, prompt, tokens), daemon=True)
            for _ in range(callers)
        ]
        for thread in self.threads:
            thread.start()

    def work(self, caller: Caller, model: str, prompt: str, tokens: int) -> None:
        for _ in range(self.CALLS_MAX):
            if self.stopping.is_set():
                return
            answered = caller.call_whole(model, prompt, tokens)
            with self.lock:
                self.answered += answered

    def stop(self) -> int:
        """Waits for the calls in flight; returns how many were answered."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=60)
        return self.answered
