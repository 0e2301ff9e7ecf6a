"""The table."""

from django.db import models


class Item(models.Model):
    """Something in stock."""

    name = models.CharField(max_length=50, unique=True)
    count = models.IntegerField(default=0)

    class Meta:
        """Where it belongs."""

        app_label = "shop"
