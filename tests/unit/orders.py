"""The tables that the tests of the unit of work write to, as PynamoDB models."""

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute, VersionAttribute
from pynamodb.models import Model


class Order(Model):
    """An order, whose attributes have other names in the table."""

    class Meta:
        table_name = "orders"

    order_id = UnicodeAttribute(hash_key=True, attr_name="id")
    status = UnicodeAttribute(null=True)
    lines = ListAttribute[str](null=True)


class Line(Model):
    """A line of an order, with a sort key."""

    class Meta:
        table_name = "lines"

    order_id = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)


class Stock(Model):
    """A stock, which counts its versions."""

    class Meta:
        table_name = "stock"

    sku = UnicodeAttribute(hash_key=True)
    quantity = NumberAttribute(default=0)
    version = VersionAttribute()
