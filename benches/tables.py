"""Tables in Markdown whose columns are aligned; the benchmarks print them."""


def show(value, form):
    return "-" if value is None else format(value, form)


def table(rows):
    """The lines of a table; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    return [lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]]
