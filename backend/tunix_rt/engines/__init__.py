"""Planning, training and generation; everything before the device is shared (`batching`)."""
