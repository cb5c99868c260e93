"""One function a use case. Knows no HTTP and no argv; receives its stores."""
