"""The operator command `idempotent-consumer`: what the person on call can see, and do."""
