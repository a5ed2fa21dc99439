"""Types of the API's clients, generated from the OpenAPI document.

`python -m service.clients`, which `make docs` runs, writes the types of the dashboard
(`web/src/api/schema.ts`) and of the command line (`cli/remote/service_types.py`). A test fails
where one of the files is old.
"""
