"""Events of the hot path: at their time, not before; and what they need of SimPy is there."""

from simpy import Environment
from simpy.events import NORMAL

from socsim.sim.alarm import Alarm, Signal


def test_the_private_names_of_simpy_are_there():
    env = Environment()
    assert env._queue == []
    assert next(env._eid) == 0
    assert env._now == 0
    assert NORMAL == 1


def test_an_alarm_goes_off_at_its_time_and_not_before():
    env, heard = Environment(), []
    Alarm(env).arm(10, lambda _: heard.append(env.now))
    env.run(until=9)
    assert heard == []
    env.run(until=11)
    assert heard == [10]


def test_an_alarm_is_armed_again_by_its_own_callback():
    env, heard = Environment(), []
    alarm = Alarm(env)

    def tick(_):
        heard.append(env.now)
        if len(heard) < 3:
            alarm.arm(7, tick)

    alarm.arm(0, tick)
    env.run()
    assert heard == [0, 7, 14]


def test_a_process_waits_for_an_alarm_again_and_again():
    env, heard = Environment(), []

    def sleeper():
        alarm = Alarm(env)
        for delay in (3, 0, 4):
            yield alarm.arm(delay)
            heard.append(env.now)

    env.process(sleeper())
    env.run()
    assert heard == [3, 3, 7]


def test_alarms_of_one_moment_go_off_in_the_order_in_which_they_were_armed():
    env, heard = Environment(), []
    for name in "abc":
        Alarm(env).arm(5, lambda _, name=name: heard.append(name))
    env.run()
    assert heard == ["a", "b", "c"]


def test_a_signal_resumes_whoever_waits_in_the_same_moment():
    env, heard = Environment(), []
    signal = Signal(env)

    def waiter(name):
        yield signal
        heard.append((name, env.now))

    def firing():
        yield env.timeout(12)
        signal.fire()

    for process in (waiter("a"), waiter("b"), firing()):
        env.process(process)
    env.run(until=12)
    assert heard == []
    env.run()
    assert heard == [("a", 12), ("b", 12)]


def test_a_signal_that_has_fired_lets_latecomers_through():
    env, heard = Environment(), []
    signal = Signal(env)
    signal.fire()

    def latecomer():
        yield env.timeout(4)
        yield signal
        heard.append(env.now)

    env.process(latecomer())
    env.run()
    assert heard == [4]
