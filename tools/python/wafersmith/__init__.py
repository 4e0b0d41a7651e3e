"""What lies below the vendor-named host modules: layouts, tools, artefacts."""
