"""What this machine has, asked without PyTorch: cores, GPUs, memory."""
