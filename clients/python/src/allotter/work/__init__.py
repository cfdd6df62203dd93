# SPDX-License-Identifier: Apache-2.0
"""Workers: a thread with the connection, and what runs tasks: threads, child processes, or an event loop."""
