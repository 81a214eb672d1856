export NCCL_DEBUG=WARN
export NCCL_ALGO="Ring,Tree"
export UCX_TLS=rc,cuda_copy,cuda_ipc
