"""The settings of the project; the database and the server are named by the environment."""

import os

SECRET_KEY = "for tests only"
INSTALLED_APPS = ["holdfast.contrib.django", "tests.frameworks.shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["SHOP_DATABASE"],
        "OPTIONS": {"timeout": 30},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = os.environ.get("SHOP_URLS", "tests.frameworks.shop.urls") or None
ALLOWED_HOSTS = ["*"]
USE_TZ = True
if "HOLDFAST_URL" in os.environ:
    HOLDFAST_URL = os.environ["HOLDFAST_URL"]
