"""The demo: the main job of the house, run on real parts and shown hop by hop."""
