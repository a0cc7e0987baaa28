"""The metrics endpoints of a simulated node and cluster, each as the real program speaks."""
