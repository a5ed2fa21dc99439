"""control_plane: what the service may do in this cluster, as the owner of the cluster allows it.

`policy` is the owner's ConfigMap as a value; `governance` applies it to the objects of an
Application, and has the mark on objects that came or were last changed over the link.
"""
