"""The container images of the Dockerfile, built on this machine without an engine or a registry.

`python -m playground.images` builds both, writes a bill of materials beside each and prints sizes.
buildah runs the Dockerfile; its base images are made from Debian's packages by mmdebstrap, because
the public ones come from a registry of images, which a laboratory may not reach. Tests start what
was built, see `playground.container`.
"""
