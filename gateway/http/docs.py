"""`/docs`: the OpenAPI document as one page, with nothing loaded from elsewhere."""

from importlib.resources import files

DOCS_PAGE = files("gateway.http").joinpath("docs.html").read_text()
