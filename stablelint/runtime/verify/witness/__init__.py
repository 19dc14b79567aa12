"""A witness from the function itself: it is called with made arguments, in a process of its own, with limits.

`uses` reads what a function does with its parameters, `arguments` writes arguments for them as text, `variants`
changes these to what real data bring, `subject` finds what is to be called, `trial` calls it, `__main__` is the
process.
"""
