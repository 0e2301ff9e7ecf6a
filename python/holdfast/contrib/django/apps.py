"""The app for ``INSTALLED_APPS``: its system check."""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks

__all__ = ["HoldfastConfig", "check_settings"]


class HoldfastConfig(AppConfig):
    """Registers the check of the settings."""

    name = "holdfast.contrib.django"
    label = "holdfast"
    verbose_name = "Holdfast"

    def ready(self) -> None:
        """Called by Django once all apps are loaded."""
        checks.register(check_settings)


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """``holdfast.E001``: ``HOLDFAST_URL`` is not set, or is not a URL; no command is sent."""
    from django.core.exceptions import ImproperlyConfigured

    from . import get_client

    try:
        get_client()
    except ImproperlyConfigured as error:
        hint = 'Set it to the URL of a server, such as HOLDFAST_URL = "redis://127.0.0.1:6379".'
        return [checks.Error(str(error), hint=hint, id="holdfast.E001")]
    return []
