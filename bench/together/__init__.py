"""Several schedulers on one database: DAGs for them, faults, and what must hold afterwards.

`workload` makes the DAGs, `database` the server and the history that it keeps, `fleet` the schedulers,
`faults` what happens to them. `facts` is what was seen; `checks` are pure functions of it, and `tampering`
proves that they notice.
"""
