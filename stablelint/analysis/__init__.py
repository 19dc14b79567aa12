"""The static pass: values, obligations, and how they are discharged."""
