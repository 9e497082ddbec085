"""`ntkexp data`: the images that are here."""

from dataclasses import dataclass

from ntkexp.commands.command import Command, flag, words


@dataclass(eq=False, repr=False)
class Data(Command):
    """list the images that are here, fetch those of these names; --forget deletes their decoded
    copies"""

    call = "data [--forget] [NAME ...]"

    names: list[str] = words()
    forget: bool = flag("delete decoded copies; files that were fetched stay")

    def execute(self) -> str:
        from ntkexp.data.images.sources import inventory

        return inventory(self.names, forget=self.forget)

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        from ntkexp.data.images.sources import image_sets

        return [*image_sets()]
