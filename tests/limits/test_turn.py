"""Who asks goes before who admits, and who admits is never kept for long."""

from __future__ import annotations

import threading

from mnemolog.parts import Turn


def test_admission_waits_until_nobody_asks() -> None:
    turn = Turn()
    turn.WAIT_S = 60.0
    order: list[str] = []
    asked, answer = threading.Event(), threading.Event()

    def ask() -> None:
        with turn.asking():
            asked.set()
            assert answer.wait(60)
            order.append("answered")

    reader = threading.Thread(target=ask)
    reader.start()
    assert asked.wait(60)
    assert turn.asked

    def admit() -> None:
        turn.give_way()
        order.append("admitted")

    writer = threading.Thread(target=admit)
    writer.start()
    answer.set()
    reader.join(60)
    writer.join(60)
    assert order == ["answered", "admitted"]
    assert not turn.asked


def test_admission_goes_on_beside_those_who_never_stop_asking() -> None:
    turn = Turn()
    with turn.asking():
        for _ in range(3):
            turn.give_way()
        assert turn.asked


def test_nobody_asks_and_nothing_is_waited_for() -> None:
    turn = Turn()
    turn.WAIT_S = 60.0
    turn.give_way()
    with turn.asking():
        pass
    turn.give_way()
