"""comparison: the desired and live objects of one Application, paired, with what differs.

`reader.ComparisonReader` reads both sides from the ports and returns a `comparison.Comparison`, on
which compare, sync and the preview of the bridge decide. The rest is pure, from coarse to fine:

    drift_summary        which objects are synced, out of sync or to be pruned
    object_diff          one desired object against its live object
    value_walk           two values side by side, along what their fields mean (`shapes`)
    owned_fields         who owns which field (`metadata.managedFields`)
    earlier_managers     fields that kubectl, Helm or Argo CD wrote before us
"""
