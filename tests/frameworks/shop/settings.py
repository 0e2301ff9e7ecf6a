"""The settings of the project; the database and the server are named by the environment."""

import os

SECRET_KEY = "for tests only"
INSTALLED_APPS = ["holdfast.contrib.django", "tests.frameworks.shop"]
POSTGRESQL = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": os.environ["SHOP_DATABASE"],
    "ATOMIC_REQUESTS": True,
}
SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": os.environ["SHOP_DATABASE"],
    "OPTIONS": {"timeout": 30},
}
DATABASES = {
    "default": POSTGRESQL if "SHOP_POSTGRESQL" in os.environ else SQLITE,
    "other": {**SQLITE, "NAME": ":memory:"},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = os.environ.get("SHOP_URLS", "tests.frameworks.shop.urls") or None
ALLOWED_HOSTS = ["*"]
USE_TZ = True
if "HOLDFAST_URL" in os.environ:
    HOLDFAST_URL = os.environ["HOLDFAST_URL"]
