"""What the control plane may do in this cluster, as the cluster's owner says it.

`policy` is the owner's ConfigMap as a value, `governed` the mark of what came or was last changed
over the link, `governance` both held against the objects of an application.
"""
