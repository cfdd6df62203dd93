# Made from aio/__init__.py by tools/unasync.py: change that one, and run it.
# SPDX-License-Identifier: Apache-2.0
