"""The command lines of a control plane: the flags each program needs on loopback, and why.

Every program gets its folder, its port and the files it reads; nothing is started here.
"""

from pathlib import Path

import msgspec

from agent.child_process import ChildProgram
from playground.certificates import KeyPair

SERVICE_NETWORK = "10.96.0.0/16"
KUBELET_CLIENT = "kube-apiserver-kubelet-client"
ISSUER = "https://kubernetes.default.svc"


class ClusterFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What the programs of one control plane share on disk."""

    folder: Path
    binaries: Path
    authority_file: Path
    serving: KeyPair
    admin: KeyPair
    kubelet_client: KeyPair
    """What the API server proves itself with at the kubelet."""
    signing_key_file: Path
    tokens_file: Path


def etcd(files: ClusterFiles, port: int, peer_port: int) -> ChildProgram:
    """Without fsync: a test's cluster does not survive a power cut, and need not."""
    here, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    return _program(
        files,
        "etcd",
        f"--data-dir={files.folder / 'etcd'}",
        f"--listen-client-urls={here}",
        f"--advertise-client-urls={here}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync=true",
        "--log-level=warn",
    )


def api_server(files: ClusterFiles, port: int, etcd_port: int) -> ChildProgram:
    return _program(
        files,
        "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={files.serving.certificate_file}",
        f"--tls-private-key-file={files.serving.key_file}",
        f"--client-ca-file={files.authority_file}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={files.authority_file}",
        f"--kubelet-client-certificate={files.kubelet_client.certificate_file}",
        f"--kubelet-client-key={files.kubelet_client.key_file}",
        f"--token-auth-file={files.tokens_file}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={files.signing_key_file}",
        f"--service-account-signing-key-file={files.signing_key_file}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        # nobody reaches the API through the service of that name, and loopback is refused there
        "--endpoint-reconciler-type=none",
    )


def controller_manager(files: ClusterFiles, port: int, kubeconfig: Path) -> ChildProgram:
    return _program(
        files,
        "kube-controller-manager",
        *_serving(files, port, kubeconfig),
        f"--service-account-private-key-file={files.signing_key_file}",
        f"--root-ca-file={files.authority_file}",
        "--use-service-account-credentials=true",
    )


def scheduler(files: ClusterFiles, port: int, kubeconfig: Path) -> ChildProgram:
    return _program(files, "kube-scheduler", *_serving(files, port, kubeconfig))


def kubelet(files: ClusterFiles, port: int, program: Path) -> ChildProgram:
    """Who has no certificate of the API server gets no shell of it."""
    return ChildProgram(
        name="kubelet",
        command=(
            str(program),
            f"--address=127.0.0.1:{port}",
            f"--tls-cert-file={files.serving.certificate_file}",
            f"--tls-private-key-file={files.serving.key_file}",
            f"--client-ca-file={files.authority_file}",
            f"--user={KUBELET_CLIENT}",
            f"--folder={files.folder}",
        ),
        folder=files.folder,
        ready_within=120,
    )


def kwok(
    files: ClusterFiles, port: int, kubelet_port: int, kubeconfig: Path, stages: Path
) -> ChildProgram:
    return _program(
        files,
        "kwok",
        f"--kubeconfig={kubeconfig}",
        f"--config={stages}",
        f"--server-address=127.0.0.1:{port}",
        "--manage-all-nodes=true",
        "--node-ip=127.0.0.1",
        f"--node-port={kubelet_port}",
        "--cidr=10.244.0.0/16",
        "--node-lease-duration-seconds=40",
    )


def _serving(files: ClusterFiles, port: int, kubeconfig: Path) -> tuple[str, ...]:
    return (
        f"--kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={files.serving.certificate_file}",
        f"--tls-private-key-file={files.serving.key_file}",
        "--leader-elect=false",
    )


def _program(files: ClusterFiles, name: str, *flags: str) -> ChildProgram:
    return ChildProgram(
        name=name,
        command=(str(files.binaries / name), *flags),
        folder=files.folder,
        ready_within=120,
    )
