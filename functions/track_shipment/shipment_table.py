"""Shipments as DynamoDB has them. The function sets their table's name from its environment."""

from __future__ import annotations

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute, UTCDateTimeAttribute
from pynamodb.exceptions import UpdateError
from pynamodb.models import Model

from shipments import ShipmentStep


class ShipmentItem(Model):
    """Map a shipment: where it is, and the steps that took it there."""

    class Meta:
        """Name the table, once it is known, and bound each request to seconds."""

        table_name: str
        connect_timeout_seconds = 1
        read_timeout_seconds = 2
        max_retry_attempts = 1

    shipment_id = UnicodeAttribute(hash_key=True)
    status = UnicodeAttribute()
    step_number = NumberAttribute()
    history = ListAttribute(of=UnicodeAttribute)
    updated_at = UTCDateTimeAttribute()

    @classmethod
    def advance(cls, step: ShipmentStep) -> bool:
        """
        Move a shipment on to a step, unless it is there already or further.

        Returns:
            Whether it moved: a step that comes late, or twice, changes nothing.
        """
        is_newer = cls.step_number.does_not_exist() | (cls.step_number < step.number)
        try:
            cls(step.shipment_id).update(
                actions=[
                    cls.status.set(step.step),
                    cls.step_number.set(step.number),
                    cls.history.set((cls.history | []).append([step.step])),
                    cls.updated_at.set(step.at),
                ],
                condition=is_newer,
            )
        except UpdateError as error:
            if error.cause_response_code == "ConditionalCheckFailedException":
                return False
            raise
        return True
