"""``gemel risk models``: how the variables of a file hang together, and what that discloses of a sensitive one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemel.common.durable import write_text
from gemel.common.errors import parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json
from gemel.risk.commands.option_values import ValuesOption, argument, csv_form, option

if TYPE_CHECKING:
    from gemel.risk.attribution.inference import Beliefs
    from gemel.risk.models.precision_search import GammaPrior
    from gemel.risk.models.result import SearchResult


def models(
    records: Annotated[Path, argument("Records: CSV, Parquet, Stata, SPSS or SAS; every chosen column a category.")],
    variables: Annotated[str, option("The variables of the model, with commas between.")],
    sensitive: Annotated[
        str | None, option("One of them: what the others disclose of it is computed for every record.")
    ] = None,
    threshold: Annotated[float, option("Probability from which a value counts as likely.")] = 0.9,
    graph: Annotated[Path | None, option("Where to draw the best model as a graph: SVG.")] = None,
    tree: Annotated[Path | None, option("Where to draw it as a junction tree: SVG.")] = None,
    moves: Annotated[int, option("Moves of each chain, for more than six variables.")] = 250_000,
    seed: Annotated[int, option("Of the search.")] = 1,
    labels: ValuesOption = "codes",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    precision_prior: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE,RATE",
            help="Of a gamma prior on the models' total prior precision, e.g. 1,1; without it the precision is 1.",
        ),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Search the decomposable graphical models of a file; draw the best, and report what it discloses of a variable."""
    import numpy as np

    from gemel.records.typed_table import chosen_values
    from gemel.risk.attribution.inference import beliefs
    from gemel.risk.attribution.microdata import encode
    from gemel.risk.attribution.reader import read_columns
    from gemel.risk.models.counts import SparseCounts
    from gemel.risk.models.defaults import search
    from gemel.risk.models.fitted import fit
    from gemel.risk.models.pictures import draw_junction_tree, draw_result
    from gemel.risk.models.precision_search import search_precision
    from gemel.risk.models.scores import HyperDirichlet

    names = [name.strip() for name in variables.split(",")]
    if sensitive is not None and sensitive not in names:
        raise parameter(
            "--sensitive",
            "the sensitive variable must be one of the model's",
            sensitive,
            f"name one of {', '.join(names)}",
        )
    csv = csv_form(encoding, separator, records)
    codes, levels = encode(read_columns(records, names, chosen_values(labels), csv))
    counts = SparseCounts.from_records(codes, [len(known) for known in levels], names)
    rng = np.random.default_rng(seed)
    if precision_prior is None:
        found = search(HyperDirichlet(counts), rng, moves=moves)
        figures = _of_search(found, len(codes))
    else:
        joint = search_precision(counts, rng, _gamma_prior(precision_prior), moves=moves)
        found = joint.search
        low, high = joint.interval()
        figures = _of_search(found, len(codes)) | {
            "precision": float(f"{joint.mean:.4g}"),
            "precision_from": float(f"{low:.4g}"),
            "precision_to": float(f"{high:.4g}"),
        }
        if joint.grid_too_short:
            typer.echo(
                f"warning: the precision has posterior probability at the end of its grid, {joint.precisions[0]:g} or "
                f"{joint.precisions[-1]:g}; give --precision-prior a mean (shape / rate) between",
                err=True,
            )
    if sensitive is not None:
        at = names.index(sensitive)
        keys = [name for name in names if name != sensitive]
        model = fit(counts, found.best.graph)
        figures |= _of_beliefs(beliefs(model, sensitive, keys, np.delete(codes, at, axis=1), codes[:, at]), threshold)
    for name, value in figures.items():
        if name != "edges" and value is not None:
            typer.echo(f"{name.replace('_', ' '):36s} {value}")
    for edge in figures["edges"]:
        typer.echo(f"  {' - '.join(edge['variables'])}: {edge['probability']}")
    if graph is not None:
        _write(graph, draw_result(found))
    if tree is not None:
        _write(tree, draw_junction_tree(found.best.graph))
    if json_file is not None and write_json(json_file, figures):
        typer.echo(f"wrote {json_file}")


def _gamma_prior(text: str) -> GammaPrior:
    from gemel.risk.models.precision_search import GammaPrior

    try:
        shape, rate = (float(part) for part in text.split(","))
    except ValueError:
        raise parameter(
            "--precision-prior",
            "expected two numbers with a comma between, the gamma's shape and rate",
            text,
            "for a mean of 1 and the spread of an exponential distribution give 1,1",
        ) from None
    return GammaPrior(shape, rate)


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    typer.echo(f"wrote {path}")


def _of_search(found: SearchResult, records: int) -> dict[str, Any]:
    best = found.best.graph
    sampled = found.proposed > 0
    return {
        "records": records,
        "search": found.method,
        "models": found.visited,
        "acceptance": round(found.acceptance, 4) if sampled else None,
        "r_hat": round(found.r_hat, 4) if sampled else None,
        "edge_spread": round(found.edge_spread, 4) if sampled else None,
        "edges": [
            {
                "variables": [str(best.names[v]), str(best.names[w])],
                "probability": round(float(found.edge_inclusion[v, w]), 4),
            }
            for v, w in best.edges
        ],
    }


def _of_beliefs(found: Beliefs, threshold: float) -> dict[str, Any]:
    import numpy as np

    claims, right = found.claims(threshold)
    factors = found.factor[np.isfinite(found.factor)]
    return {
        "threshold": threshold,
        "records_with_likely_value": claims,
        "likely_values_that_are_true": None if right is None else round(right, 4),
        "records_with_value_ruled_out": found.ruled_out(0.0),
        "greatest_confidence": round(float(found.confidence.max()), 4),
        "greatest_divergence_in_bits": round(float(found.divergence.max()), 4),
        "greatest_factor_of_the_odds": round(float(factors.max()), 4) if len(factors) else None,
    }
