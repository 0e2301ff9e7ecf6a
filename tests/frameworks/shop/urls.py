"""The views: a read-modify-write under a lock, and a report that runs once at a time."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from holdfast.contrib.django import atomic_lock, get_client, locked
from tests.frameworks.shop.models import Item


def add(_: HttpRequest, name: str) -> HttpResponse:
    """One more in stock."""
    with atomic_lock(f"stock:{name}", wait=30):
        item = Item.objects.get(name=name)
        item.count += 1
        item.save()
    return HttpResponse(str(item.count))


@locked("report:{name}", wait=30)
def report(_: HttpRequest, name: str) -> HttpResponse:
    """Whether its lock is held while it runs, which must be so."""
    return HttpResponse(str(get_client().lock(f"report:{name}").owned()))


urlpatterns = [path("add/<name>", add), path("report/<name>", report)]
