"""What this machine has, asked without PyTorch where that can be: cores, GPUs, memory."""
