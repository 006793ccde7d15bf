"""Networks as MindSpore cells: the definitions that training and conversion share."""
