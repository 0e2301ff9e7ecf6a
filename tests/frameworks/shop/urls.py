"""The views: a read-modify-write under a lock, and a report that runs once at a time."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path

from holdfast.contrib.django import atomic_lock, get_client, locked
from tests.frameworks.shop.models import Item

SHARED = atomic_lock("stock:shared")


def one_more(name: str) -> HttpResponse:
    """One more in stock."""
    item = Item.objects.get(name=name)
    item.count += 1
    item.save()
    return HttpResponse(str(item.count))


@transaction.non_atomic_requests
def add(_: HttpRequest, name: str) -> HttpResponse:
    """In a block that is made for the request."""
    with atomic_lock(f"stock:{name}", wait=30):
        return one_more(name)


@transaction.non_atomic_requests
def shared(_: HttpRequest, name: str) -> HttpResponse:
    """In a block that all threads share."""
    with SHARED:
        return one_more(name)


@transaction.non_atomic_requests
@SHARED
def decorated(_: HttpRequest, name: str) -> HttpResponse:
    """In the same block, which decorates the view."""
    return one_more(name)


@transaction.non_atomic_requests
@locked("stock:{name}")
def around(_: HttpRequest, name: str) -> HttpResponse:
    """Under a lock around the transaction."""
    with transaction.atomic():
        return one_more(name)


@locked("stock:{name}")
def within(_: HttpRequest, name: str) -> HttpResponse:
    """With ATOMIC_REQUESTS, under a lock within the transaction."""
    return one_more(name)


@transaction.non_atomic_requests
@locked("report:{name}", wait=30)
def report(_: HttpRequest, name: str) -> HttpResponse:
    """Whether its lock is held while it runs, which must be so."""
    return HttpResponse(str(get_client().lock(f"report:{name}").owned()))


views = (add, shared, decorated, around, within, report)
urlpatterns = [path(f"{view.__name__}/<name>", view) for view in views]
