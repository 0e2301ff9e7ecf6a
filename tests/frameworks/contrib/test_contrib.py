"""What the modules of `holdfast.contrib` refuse, and what importing them costs others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import holdfast
from holdfast.contrib._locks import seconds_to_retry
from tests.support.servers import Server

PACKAGES = (
    "celery", "django", "fastapi", "opentelemetry", "prometheus_client", "pydantic", "pytest",
    "redis",
)  # fmt: skip


def test_importing_holdfast_imports_no_framework() -> None:
    program = f"""if True:
        import sys
        import holdfast, holdfast.asyncio
        holdfast.Client().lock("myLock")
        found = [name for name in sys.modules if name.partition(".")[0] in {PACKAGES!r}]
        found += [name for name in sys.modules if name.startswith("holdfast.contrib")]
        assert not found, found
        """
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("time_to_live", "seconds"),
    [(None, 1), (0.0, 1), (0.2, 1), (1.2, 2), (29.5, 30), (30.1, 30), (3600.0, 30)],
)
def test_a_busy_lock_is_asked_for_again_after_its_time_to_live_from_1_to_30_s(
    time_to_live: float | None, seconds: int
) -> None:
    assert seconds_to_retry(time_to_live) == seconds


class TestFastAPI:
    """`holdfast.contrib.fastapi`."""

    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("fastapi")

    @pytest.mark.parametrize(
        ("template", "options", "error", "named"),
        [("", {}, ValueError, "template"), (7, {}, TypeError, "template"),
         ("order:{}", {}, ValueError, "positional"), ("order:{", {}, ValueError, "format"),
         ("order", {"kind": "spin_lock"}, ValueError, "kind"),
         ("order", {"wait": -1}, ValueError, "wait"), ("order", {"wait": "1"}, TypeError, "wait"),
         ("order", {"lease": 0}, ValueError, "lease")],
        ids=["empty", "no-text", "positional", "unfinished", "kind", "negative", "text", "lease"],
    )  # fmt: skip
    def test_bad_arguments_are_refused_at_once(
        self, template: Any, options: dict[str, Any], error: type[Exception], named: str
    ) -> None:
        from holdfast.contrib.fastapi import Locked

        with pytest.raises(error, match=named):
            Locked(template, **options)

    def test_a_bad_url_is_refused_before_the_start(self) -> None:
        from holdfast.contrib.fastapi import lifespan

        with pytest.raises(ValueError, match="http"):
            lifespan("http://127.0.0.1")
        with pytest.raises(TypeError, match="colour"):
            lifespan(colour="red")


class TestCelery:
    """`holdfast.contrib.celery`."""

    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("celery")

    @pytest.fixture
    def app(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        from celery import Celery

        monkeypatch.delenv("HOLDFAST_URL", raising=False)
        return Celery("app", broker="memory://", set_as_current=False)

    def test_bad_arguments_are_refused_at_decoration(self, app: Any) -> None:
        from holdfast.contrib.celery import single

        def export(user: str) -> None: ...

        async def coroutine_function(user: str) -> None: ...

        with pytest.raises(ValueError, match="busy"):
            single("export:{user}", busy="never")
        with pytest.raises(ValueError, match="wait"):
            single("export:{user}", busy="skip", wait=1)
        with pytest.raises(ValueError, match="field 'order'"):
            single("export:{order}")(export)
        with pytest.raises(TypeError, match="coroutine"):
            single("export:{user}")(coroutine_function)
        with pytest.raises(TypeError, match=r"below @app\.task"):
            single("export:{user}")(app.task(export))

    def test_a_task_keeps_the_signature_that_celery_checks(self, app: Any) -> None:
        from holdfast.contrib.celery import single

        @app.task
        @single("export:{user}")
        def export(user: str) -> None: ...

        with pytest.raises(TypeError, match="user"):
            export.apply_async(())

    def test_the_server_is_the_application_s_else_the_environment_s(
        self, app: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from holdfast.contrib.celery import enqueue_once

        @app.task
        def export(user: str) -> None: ...

        monkeypatch.setenv("HOLDFAST_URL", "redis://127.0.0.1:1?retries=0")
        with pytest.raises(holdfast.ConnectionError, match=r"127\.0\.0\.1:1\b"):
            enqueue_once(export, name="export")
        app.conf.holdfast_url = "redis://127.0.0.1:2?retries=0"
        with pytest.raises(holdfast.ConnectionError, match=r"127\.0\.0\.1:2\b"):
            enqueue_once(export, name="export")

    def test_enqueue_once_refuses_before_anything_is_sent(self, app: Any) -> None:
        from celery.exceptions import ImproperlyConfigured

        from holdfast.contrib.celery import enqueue_once

        @app.task
        def export(user: str) -> None: ...

        with pytest.raises(TypeError, match="task"):
            enqueue_once(print, name="export")
        with pytest.raises(ValueError, match="name"):
            enqueue_once(export, name="")
        with pytest.raises(ValueError, match="lease"):
            enqueue_once(export, name="export", lease=0)
        with pytest.raises(ImproperlyConfigured, match=r"app\.conf\.holdfast_url"):
            enqueue_once(export, name="export")

    @pytest.mark.servers("redis")
    @pytest.mark.parametrize("propagates", [False, True])
    def test_a_retry_that_runs_at_once_has_the_lock_of_the_task(
        self, app: Any, server: Server, propagates: bool
    ) -> None:
        from celery.exceptions import Retry

        from holdfast.contrib.celery import enqueue_once, single

        app.conf.update(
            task_always_eager=True, task_eager_propagates=propagates, holdfast_url=server.url
        )
        seen = []

        @app.task(bind=True, max_retries=5)
        @single("export:{user}", busy="wait", wait=0)
        def export(self: Any, user: str) -> str:
            seen.append(server.inspect.hkeys("export:ada"))
            if self.request.retries < 2:
                raise self.retry(countdown=0)
            return "done"

        if propagates:
            with pytest.raises(Retry):
                enqueue_once(export, ("ada",), name="export:ada")
        else:
            result = enqueue_once(export, ("ada",), name="export:ada")
            assert result.get() == "done"
            assert len(seen) == 3
        assert all(len(owners) == 1 for owners in seen)
        assert seen.count(seen[0]) == len(seen)
        assert not server.inspect.exists("export:ada")


def test_django_names_a_setting_that_is_missing_at_decoration() -> None:
    pytest.importorskip("django")
    program = """if True:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.test.utils import override_settings
        settings.configure()
        from holdfast.contrib.django import get_client, locked
        def refused(call):
            try:
                call()
            except ImproperlyConfigured as error:
                assert "settings.HOLDFAST_URL" in str(error), error
            else:
                raise AssertionError(call)
        refused(get_client)
        refused(lambda: locked("report")(print))
        with override_settings(HOLDFAST_URL="http://127.0.0.1"):
            refused(get_client)
        with override_settings(HOLDFAST_URL="redis://127.0.0.1:1"):
            assert get_client() is get_client()
            first = get_client()
            try:
                locked("report:{order}")(lambda user: None)
            except ValueError as error:
                assert "order" in str(error)
        with override_settings(HOLDFAST_URL="redis://127.0.0.1:2"):
            assert get_client() is not first
        """
    subprocess.run([sys.executable, "-c", program], check=True)
